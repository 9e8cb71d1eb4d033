// Bundles the program into one file, dist/sidecar-first.mjs, which the image and the package's `bin` run.
import { chmod } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const outfile = `${root}dist/sidecar-first.mjs`

await build({
  absWorkingDir: root,
  entryPoints: ['src/main.ts'],
  outfile,
  bundle: true,
  platform: 'node',
  // An old Node must get as far as the line in main.ts that says what it lacks: hence the old syntax, and CommonJS inside, where each
  // module's imports run when the module does. As ESM, every node: import of every command would be hoisted to the start.
  target: 'node14.18',
  format: 'cjs',
  banner: {
    js: "import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)",
  },
  // Half the size, and a third of the time to compile it; names stay, for stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  charset: 'utf8',
  legalComments: 'eof',
  logLevel: 'warning',
  plugins: [
    {
      // express loads it at once, with half a megabyte of character tables; here bodies are read in src/server/body.ts.
      name: 'no-body-parser',
      setup({ onResolve, onLoad }) {
        onResolve({ filter: /^body-parser$/ }, ({ path }) => ({ path, namespace: 'nothing' }))
        onLoad({ filter: /./, namespace: 'nothing' }, () => ({ contents: 'module.exports = {}' }))
      },
    },
  ],
})
await chmod(outfile, 0o755)
