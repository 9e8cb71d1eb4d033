import { printable } from '../admission/words/printable.ts'
import { type Look, type Style, styled } from '../terminal/look.ts'
import type { Checked } from './checks.ts'
import type { Level, Told } from './findings.ts'

const styles: Record<Level, Style> = { ok: 'green', warning: 'yellow', problem: 'red' }

const all = (checked: readonly Checked[]): Told[] => checked.flatMap(({ findings }) => findings)

export const hasProblem = (checked: readonly Checked[]): boolean =>
  all(checked).some(({ level }) => level === 'problem')

/** Each finding on a line, and how many there are. A single subject is a title. */
export function textReport(checked: readonly Checked[], look: Look): string {
  const title = checked.length === 1 ? `${styled(look, 'bold', checked[0]?.name ?? '')}\n` : ''
  return `${title}${findingLines(checked, look)}\n${amount(checked, 'problem')}, ${amount(checked, 'warning')}\n`
}

/** One line for each finding, below it what to do (once, if several in a row ask for the same). A single subject isn't named. */
export function findingLines(checked: readonly Checked[], look: Look): string {
  const alone = checked.length === 1
  const width = alone ? -2 : Math.max(...checked.map(({ name }) => name.length))
  const lines = checked.flatMap(({ name, findings }) =>
    findings.flatMap(({ code, level, text, next }, index) => {
      const column = alone ? '' : `${(index === 0 ? name : '').padEnd(width)}  `
      const head = `${styled(look, styles[level], level.padEnd(8))} ${column}`
      const arrow = `${' '.repeat(width + 11)}${look.unicode ? '→' : '->'} `
      const told = next === undefined || next === findings[index + 1]?.next
      return [`${head}${code} ${shown(text)}\n`, ...(told ? [] : [`${arrow}${shown(next)}\n`])]
    }),
  )
  return lines.join('')
}

/** Some of it was written by a pod's author, who must not control the terminal. */
const shown = (text: string) => printable(text, 4096)

function amount(checked: readonly Checked[], what: Level): string {
  const count = all(checked).filter(({ level }) => level === what).length
  return `${count === 0 ? 'no' : count} ${what}${count === 1 ? '' : 's'}`
}

/** `{"findings": [{check, code, severity, level, text, path?, next?}]}`; `level` is the older name of `severity`. */
export function jsonReport(checked: readonly Checked[]): string {
  const findings = checked.flatMap(({ name, findings }) =>
    findings.map(({ code, level, text, path, next }) => ({
      check: name,
      code,
      severity: level,
      level,
      text,
      path,
      next,
    })),
  )
  return `${JSON.stringify({ findings }, null, 2)}\n`
}
