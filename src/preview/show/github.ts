import { relative, resolve } from 'node:path'
import { standardInput } from '../../files/files.ts'
import { type PreviewedFiles, remarksOf } from './files.ts'
import { summary } from './text.ts'

/**
 * Workflow commands that GitHub Actions shows beside the lines of a pull request (docs.github.com, "Workflow commands for GitHub
 * Actions"): errors for what can't be read or is refused, warnings, and notices for those that only cost something. The last line is for people.
 * Paths are relative to `root`, the checkout.
 */
export function annotations(found: PreviewedFiles, root: string): string {
  const commands = remarksOf(found).map(({ file, of, code, severity, text, line, column }) => {
    const place = { ...(file !== standardInput && { file: relative(root, resolve(file)) }), line, col: column }
    const properties = Object.entries({ ...place, title: `${code} ${of}` })
    const written = properties.map(([key, value]) => `${key}=${escapeProperty(String(value))}`)
    return `::${kinds[severity]} ${written.join(',')}::${escapeData(text)}`
  })
  const previews = found.files.flatMap(({ previewed }) => previewed.previews)
  return `${[...commands, summary(previews)].join('\n')}\n`
}

const kinds = { refusal: 'error', problem: 'error', warning: 'warning', note: 'notice', ok: 'notice' } as const

/** As the runner decodes it (actions/toolkit, command.ts). */
function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
