import { parseArgs } from 'node:util'
import { writeManifests } from '../preview/write.ts'
import type { Command } from './command.ts'
import { FileError } from './files.ts'
import { fileOptions, placeOf, previewFiles, refuse } from './preview-files.ts'

const help = `Prints manifests as the webhook would make them, for kubectl apply. Comments and formatting stay where nothing changes.

Usage: sidecar-first inject [flags] [FILE...]

  -f, --filename FILE   manifests, YAML or JSON; may be repeated; - is standard input
  --config FILE         configuration

It prints nothing, and ends with 1, where an object is refused. Reasons and warnings go to standard error.

Example:
kubectl create deployment sample --image=app:1 --dry-run=client -o yaml | sidecar-first inject -f - | kubectl apply -f -
`

export const inject: Command = {
  help,
  async run(args, terminal) {
    const { values, positionals } = parseArgs({ args: [...args], options: fileOptions, allowPositionals: true })
    try {
      const files = await previewFiles([...values.filename, ...positionals], values.config, terminal)
      refuse(files)
      for (const { name, previewed } of files) {
        for (const preview of previewed.previews) {
          for (const warning of preview.decision.warnings) {
            terminal.stderr.write(`${placeOf(name, preview)}: warning: ${warning}\n`)
          }
        }
      }
      terminal.stdout.write(joinDocuments(files.map(({ previewed }) => writeManifests(previewed))))
      return 0
    } catch (error) {
      if (!(error instanceof FileError)) throw error
      terminal.stderr.write(`${error.message}\n`)
      return 1
    }
  },
}

/** One YAML stream of several: they stay as they are, but for what keeps two from running into one document. */
export function joinDocuments(texts: readonly string[]): string {
  const full = texts.filter((text, index) => index === 0 || text.trim() !== '')
  return full.reduce((joined, text) => {
    const next = text.replace(/^\uFEFF/, '')
    const open = joined === '' || joined.endsWith('\n') ? '' : '\n'
    const marker = next.startsWith('%') ? '...\n' : /^---(?:\s|$)/.test(next) ? '' : '---\n'
    return joined + open + marker + next
  })
}
