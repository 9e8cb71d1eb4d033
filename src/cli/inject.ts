import { parseArgs } from 'node:util'
import { isCost } from '../admission/warning.ts'
import { writeManifests } from '../preview/write.ts'
import type { Command } from './command.ts'
import { FileError } from './files.ts'
import { fileHelp, fileOptions, placeOf, previewFiles, refuse } from './preview-files.ts'
import { sampleManifest } from './sample.ts'

const help = `Prints manifests as the webhook would make them, for kubectl apply. Comments and formatting stay where nothing changes.

Usage: sidecar-first inject [flags] [PATH...]

${fileHelp}

It prints nothing, and ends with 1, where an object is refused or a file can't be read. Reasons and warnings go to standard error.

Example, and then | kubectl apply -f -
sidecar-first inject -f - <<'EOF'
${sampleManifest}EOF
`

export const inject: Command = {
  help,
  async run(args, terminal) {
    const { values, positionals } = parseArgs({ args: [...args], options: fileOptions, allowPositionals: true })
    try {
      const found = await previewFiles([...values.filename, ...positionals], values.config, terminal)
      refuse(found)
      for (const { name, previewed } of found.files) {
        for (const preview of previewed.previews) {
          for (const each of preview.decision.warnings) {
            terminal.stderr.write(`${placeOf(name, preview)}: ${isCost(each) ? 'costs' : 'warning'}: ${each.text}\n`)
          }
        }
      }
      terminal.stdout.write(joinDocuments(found.files.map(({ previewed }) => writeManifests(previewed))))
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
