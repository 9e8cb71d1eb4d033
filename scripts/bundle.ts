// node scripts/bundle.ts [FOLDER]: bundles the program into dist/sidecar-first.mjs, which the image and the package's `bin` run, and one file
// beside it for each part that is loaded when it is needed: V8 reads a file from end to end before it runs any of it, and most of these
// megabytes are for other commands.
import { chmod, rm } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { manifests } from '../src/install/manifests.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = `${root}dist`
const outdir = resolve(process.argv[2] ?? dist)

if (outdir === dist) await rm(dist, { recursive: true, force: true })
await build({
  absWorkingDir: root,
  entryPoints: { 'sidecar-first': 'src/main.ts', 'preview-process': 'src/preview/process.ts' },
  outdir,
  outExtension: { '.js': '.mjs' },
  splitting: true,
  bundle: true,
  platform: 'node',
  // An old Node must get as far as the line in main.ts that says what it lacks: hence the old syntax, and no import in that file.
  target: 'node14.18',
  format: 'esm',
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
    {
      // The page's texts in the place of the module that reads them; its script in one piece.
      name: 'page',
      setup({ onLoad }) {
        onLoad({ filter: /src\/server\/page-files\.ts$/ }, async () => {
          const { pageFiles } = await import('../src/server/page-files.ts')
          const { outputFiles } = await build({
            absWorkingDir: root,
            entryPoints: ['src/page/page.js', 'src/page/page.css'],
            outdir: 'page',
            bundle: true,
            minify: true,
            format: 'esm',
            charset: 'utf8',
            logLevel: 'warning',
            write: false,
          })
          const built = outputFiles.map(({ path, text }): [string, string] => [basename(path), text])
          const rest = [...pageFiles].filter(([name]) => !/\.(?:js|css)$/.test(name))
          return { contents: `export const pageFiles = new Map(${JSON.stringify([...rest, ...built])})` }
        })
      },
    },
    {
      // The texts of the manifests, in place of the module that reads them from their folder.
      name: 'manifests',
      setup({ onLoad }) {
        const contents = `export const manifests = ${JSON.stringify(manifests)}`
        onLoad({ filter: /\/src\/install\/manifests\.ts$/ }, () => ({ contents }))
      },
    },
  ],
})
await chmod(`${outdir}/sidecar-first.mjs`, 0o755)
