import { relative, resolve } from 'node:path'
import { standardInput } from '../../files/files.ts'
import { messagesOf } from '../message.ts'
import { faultCode, faultText } from '../problems.ts'
import { type PreviewedFiles, titleOf } from './files.ts'
import { summary } from './text.ts'

/**
 * Workflow commands that GitHub Actions shows beside the lines of a pull request (docs.github.com, "Workflow commands for GitHub
 * Actions"): errors for what can't be read or is refused, warnings, and notices for those that only cost something. The last line is for people.
 * Paths are relative to `root`, the checkout.
 */
export function annotations({ files, problems }: PreviewedFiles, root: string): string {
  const previews = files.flatMap(({ previewed }) => previewed.previews)
  const unread = problems.map(({ name, line, column, fault, document }) =>
    command(
      'error',
      { file: name, line, col: column, title: `${faultCode(fault)} document ${document}` },
      faultText(fault),
      root,
    ),
  )
  const decided = files.flatMap(({ name, previewed }) =>
    previewed.previews.flatMap((preview) =>
      messagesOf(preview).map(({ code, severity, text, line, column }) => {
        const title = `${code} ${titleOf(preview.object)}`
        return command(kinds[severity], { file: name, line, col: column, title }, text, root)
      }),
    ),
  )
  return `${[...unread, ...decided, summary(previews)].join('\n')}\n`
}

const kinds = { refusal: 'error', problem: 'error', warning: 'warning', note: 'notice', ok: 'notice' } as const

function command(
  kind: 'error' | 'warning' | 'notice',
  { file, ...place }: { file: string; line: number; col?: number; title: string },
  message: string,
  root: string,
): string {
  const properties = { ...(file === standardInput ? {} : { file: relative(root, resolve(file)) }), ...place }
  const written = Object.entries(properties).map(([key, value]) => `${key}=${escapeProperty(String(value))}`)
  return `::${kind} ${written.join(',')}::${escapeData(message)}`
}

/** As the runner decodes it (actions/toolkit, command.ts). */
function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
