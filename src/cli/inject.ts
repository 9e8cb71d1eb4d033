import { parseArgs } from 'node:util'
import { ignoredCodes, ignoreHelp, ignoreOption } from '../messages/ignore.ts'
import { line, messagesOf } from '../preview/message.ts'
import { fileHelp, fileOptions, placeOf, previewFiles, refuse, withoutIgnored } from '../preview/show/files.ts'
import { sampleManifest } from '../preview/show/sample.ts'
import { writeManifests } from '../preview/write.ts'
import type { Command } from '../terminal/command.ts'
import { exact, lookOf } from '../terminal/look.ts'

const help = `Prints manifests as the webhook would patch them, for kubectl apply. Comments
and formatting stay where nothing changes.

Usage: sidecar-first inject [flags] [PATH...]

${fileHelp}
${ignoreHelp}

It prints nothing and exits with 1 if an object is refused or a file can't be
read. Reasons and warnings go to standard error.

Example, to be followed by | kubectl apply -f -
sidecar-first inject -f - <<'EOF'
${sampleManifest}EOF
`

const options = { ...fileOptions, ...ignoreOption } as const

export const inject: Command = {
  help,
  async run(args, terminal) {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const ignored = ignoredCodes(values.ignore)
    const read = await previewFiles([...values.filename, ...positionals], values.config, terminal)
    const found = withoutIgnored(read, ignored)
    refuse(found)
    for (const { name, previewed } of found.files) {
      for (const preview of previewed.previews) {
        for (const one of messagesOf(preview)) {
          const what = one.severity === 'note' ? 'costs' : 'warning'
          terminal.stderr.write(`${placeOf(name, preview, one.line)}: ${what}: ${line(one)}\n`)
        }
      }
    }
    const text = joinDocuments(found.files.map(({ previewed }) => writeManifests(previewed)))
    terminal.stdout.write(exact(text, lookOf(terminal, process.env)))
    return 0
  },
}

/** Joins YAML streams. They stay as they are, with a separator where two would run into one document. */
export function joinDocuments(texts: readonly string[]): string {
  const full = texts.filter((text, index) => index === 0 || text.trim() !== '')
  return full.reduce((joined, text) => {
    const next = text.replace(/^\uFEFF/, '')
    const open = joined === '' || joined.endsWith('\n') ? '' : '\n'
    const marker = next.startsWith('%') ? '...\n' : /^---(?:\s|$)/.test(next) ? '' : '---\n'
    return joined + open + marker + next
  })
}
