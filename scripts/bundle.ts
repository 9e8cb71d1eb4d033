// node scripts/bundle.ts [FOLDER [LIST]]: bundles the program into dist/sidecar-first.mjs, which the image and the package's `bin` run. Each part that is
// loaded on demand becomes a separate file beside it, because V8 reads a file from end to end before it runs any of it, and each command needs only
// a few of these megabytes. LIST is a file for what is in it, as scripts/shipped/sbom.ts reads it.
import { chmod, rm, writeFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Metafile } from 'esbuild'
import { manifests } from '../src/install/manifests.ts'
import { bundledComponents } from './shipped/components.ts'
import { requireNotices } from './shipped/notices.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = `${root}dist`

/** @returns what esbuild says it put in */
export async function bundle(outdir: string): Promise<Metafile[]> {
  const made: Metafile[] = []
  const { metafile } = await build({
    absWorkingDir: root,
    metafile: true,
    entryPoints: {
      'sidecar-first': 'src/main.ts',
      'preview-process': 'src/preview/process.ts',
      'configuration-thread': 'src/configuration/thread.ts',
    },
    outdir,
    outExtension: { '.js': '.mjs' },
    splitting: true,
    bundle: true,
    platform: 'node',
    // Old versions of Node must reach the line in main.ts that asks for a newer one. So the syntax is old, and that file imports nothing.
    target: 'node14.18',
    format: 'esm',
    banner: {
      js: "import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)",
    },
    // Halves the size, and compiling takes a third of the time. Names stay, for stack traces.
    minifyWhitespace: true,
    minifySyntax: true,
    charset: 'utf8',
    legalComments: 'eof',
    logLevel: 'warning',
    plugins: [
      {
        name: 'sidecar-first',
        setup({ onResolve, onLoad }) {
          // express loads body-parser at once, with half a megabyte of character tables. We read bodies in src/server/body.ts instead.
          onResolve({ filter: /^body-parser$/ }, ({ path }) => ({ path, namespace: 'nothing' }))
          onLoad({ filter: /./, namespace: 'nothing' }, () => ({ contents: 'module.exports = {}' }))
          // Replaces the module that reads the manifests from their folder with their contents.
          const contents = `export const manifests = ${JSON.stringify(manifests)}`
          onLoad({ filter: /\/src\/install\/manifests\.ts$/ }, () => ({ contents }))
          // Replaces the module that reads the page's files with their contents, and bundles the page's script into one file.
          onLoad({ filter: /src\/server\/page-files\.ts$/ }, async () => {
            const { pageFiles } = await import('../src/server/page-files.ts')
            const { outputFiles, metafile } = await build({
              absWorkingDir: root,
              entryPoints: ['src/page/page.js', 'src/page/page.css', 'src/page/drawer.css'],
              outdir: 'page',
              bundle: true,
              minify: true,
              format: 'esm',
              charset: 'utf8',
              logLevel: 'warning',
              write: false,
              metafile: true,
            })
            made.push(metafile)
            const built = outputFiles.map(({ path, text }): [string, string] => [basename(path), text])
            const rest = [...pageFiles].filter(([name]) => !/\.(?:js|css)$/.test(name))
            return { contents: `export const pageFiles = new Map(${JSON.stringify([...rest, ...built])})` }
          })
        },
      },
    ],
  })
  await chmod(`${outdir}/sidecar-first.mjs`, 0o755)
  return [metafile, ...made]
}

if (import.meta.main) {
  const outdir = resolve(process.argv[2] ?? dist)
  if (outdir === dist) await rm(dist, { recursive: true, force: true })
  const components = bundledComponents(await bundle(outdir))
  requireNotices(components)
  const list = process.argv[3]
  if (list !== undefined) await writeFile(list, JSON.stringify(components))
}
