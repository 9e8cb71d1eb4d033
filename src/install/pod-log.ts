import { printable } from '../admission/words/printable.ts'

/** The last warning in a log of ours, which has JSON in each line, with the first that it says of the cause; undefined if there is none. */
export function lastWarning(log: string): string | undefined {
  const found = log.split('\n').findLast((line) => severe.test(line) && fieldsOf(line) !== undefined)
  if (found === undefined) return undefined
  const { msg, problems, err } = fieldsOf(found) ?? {}
  const cause = Array.isArray(problems) ? problems[0] : err?.message
  const text = [msg, cause].filter((part) => typeof part === 'string' && part !== '').join(': ')
  return text === '' ? undefined : printable(text.replace(/\s+/g, ' '), 300)
}

const severe = /^\{"level":"(?:warn|error|fatal)"/

interface Line {
  readonly msg?: unknown
  readonly problems?: unknown
  readonly err?: { readonly message?: unknown }
}

/** Undefined for a line that was cut. */
function fieldsOf(line: string): Line | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
