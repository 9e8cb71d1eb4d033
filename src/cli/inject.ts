import { whyText } from '../admission/suggest/words.ts'
import { coded } from '../admission/words/messages.ts'
import { printable } from '../admission/words/printable.ts'
import { ignoredCodes, ignoreHelp, ignoreOption } from '../messages/ignore.ts'
import { underKubernetes } from '../preview/kubernetes.ts'
import { applyPatch } from '../preview/patch.ts'
import {
  complaints,
  fileHelp,
  fileOptions,
  type PreviewedFiles,
  placeOf,
  previewFiles,
  refuse,
  remarkLine,
  remarksOf,
  say,
} from '../preview/show/files.ts'
import { sampleManifest } from '../preview/show/sample.ts'
import { annotating } from '../preview/suggestion.ts'
import { writeManifests } from '../preview/write.ts'
import { defineCommand } from '../terminal/define-command.ts'
import { exact, lookOf } from '../terminal/look.ts'

const help = `Prints manifests as the webhook would patch them, for kubectl apply. Comments
and formatting stay where nothing changes.

Usage: sidecar-first inject [flags] [PATH...]

${fileHelp}
  --suggest             instead of patching, add the annotations that preview
                        suggests for well-known sidecars
${ignoreHelp}

It prints nothing and exits with 1 if an object is refused or a file can't be
read; with --suggest a refused object is printed as it is, among the others.
Reasons and warnings go to standard error.

The configuration's waiter.image is where the pods pull the waiter from: name
yours, since nobody has published it under its default name. Pods that say
sidecar-first.dev/waiter: shell need none.

Example, to be followed by | kubectl apply -f -
sidecar-first inject -f - <<'EOF'
${sampleManifest}EOF
`

const options = { ...fileOptions, ...ignoreOption, suggest: { type: 'boolean', default: false } } as const

export const inject = defineCommand({
  help,
  options,
  names: 'files',
  async run(flags, words, terminal) {
    const ignored = await ignoredCodes(flags.ignore)
    const found = await previewFiles([...flags.filename, ...words], { ...flags, ignored }, terminal)
    const look = lookOf(terminal, process.env)
    if (flags.suggest && found.problems.length === 0) {
      const refused = complaints(found)
      const { files, told } = suggested(found)
      terminal.stderr.write([...refused, ...told].map((each) => `${each}\n`).join(''))
      if (told.length === 0) say({ kind: 'nothing-to-suggest' }, ignored, terminal)
      terminal.stdout.write(exact(joinDocuments(files.map(writeManifests)), look))
      return refused.length > 0 ? 1 : 0
    }
    refuse(found)
    const remarks = remarksOf(found).map((each) => remarkLine(each, each.severity === 'note' ? ': costs' : ': warning'))
    terminal.stderr.write(remarks.map((each) => `${each}\n`).join(''))
    const text = joinDocuments(found.files.map(({ previewed }) => writeManifests(previewed)))
    terminal.stdout.write(exact(text, look))
    const { version, assumed } = underKubernetes(found.configuration)
    if (assumed && found.newestLocks()) say({ kind: 'without-lock', version }, ignored, terminal)
    return 0
  },
})

/** The files with the lines that mend something, and what is said of each object. */
function suggested({ files }: PreviewedFiles) {
  const told: string[] = []
  const changed = files.map(({ name, previewed }) => ({
    ...previewed,
    previews: previewed.previews.map((preview) => {
      const { object, suggestion, decision } = preview
      const said = (what: string) => told.push(`${placeOf(name, preview)}: ${printable(what, 4096)}`)
      const lines = suggestion?.kind === 'mend' ? suggestion.lines : []
      for (const { key, value, why } of lines) said(`added ${key}: ${value} (${whyText(why)})`)
      if (suggestion?.kind === 'mend') {
        for (const { key, value, why } of suggestion.conditional) said(`not added ${key}: ${value} (${whyText(why)})`)
      } else if (suggestion !== undefined) {
        const why = suggestion.kind === 'none' ? suggestion.why : decision.reasons
        said(`${decision.verdict}: ${why.map(coded).join('; ')}`)
      }
      const patch = annotating(object, lines)
      return { ...preview, patch, patched: applyPatch(object.value, patch) }
    }),
  }))
  return { files: changed, told }
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
