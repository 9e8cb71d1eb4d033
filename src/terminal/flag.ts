import { durationRange, parseDuration } from '../admission/check/duration.ts'
import { isContainerName } from '../admission/intent/tiers.ts'
import { textOf } from '../admission/words/messages.ts'
import { quote } from '../admission/words/quote.ts'
import { UsageError } from './command.ts'

/** @throws UsageError that names the flag and the choices */
export function oneOf<T extends string>(flag: string, text: string, choices: readonly T[]): T {
  const choice = choices.find((name) => name === text)
  if (choice !== undefined) return choice
  const list = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(choices)
  throw new UsageError('flag-value', `${flag} takes ${list}, not ${quote(text)}`)
}

/** @throws UsageError where it can't be a namespace's name: an empty one, of a variable that isn't set, would ask for another list than was meant */
export function namespaceName(flag: string, text: string): string {
  if (/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text)) return text
  throw new UsageError('flag-value', `${flag} takes the name of a namespace, not ${quote(text)}`)
}

/** @throws UsageError that names the flag */
export function containerName(flag: string, text: string): string {
  if (isContainerName(text)) return text
  throw new UsageError('flag-value', `${flag} takes the name of a container, not ${quote(text)}`)
}

/** The first word of a command that has several actions. @throws UsageError that names them */
export function actionOf<T extends string>(word: string | undefined, actions: readonly T[]): T {
  const action = actions.find((name) => name === word)
  if (action !== undefined) return action
  throw new UsageError(
    'wrong-arguments',
    `${word === undefined ? 'missing action' : `unknown action ${quote(word)}`}: ${actions.join(', ')}`,
  )
}

/** For a command that is only ever run. @throws UsageError where the words are anything but `run` */
export function runAlone([action, extra]: readonly string[]): void {
  actionOf(action, ['run'])
  if (extra !== undefined) throw new UsageError('wrong-arguments', `run takes no ${quote(extra)}`)
}

/** Reads a whole number. @throws UsageError that names the flag and its bounds */
export const wholeNumber = (least: number, most: number) => (flag: string, text: string) => {
  const value = Number(text)
  if (/^\d{1,9}$/.test(text) && value >= least && value <= most) return value
  throw new UsageError('flag-value', `${flag} takes a number from ${least} to ${most}, not ${quote(text)}`)
}

/** Reads milliseconds. @throws UsageError that names the flag and its range */
export function durationWithin(least: string, most: string): (flag: string, text: string) => number {
  const range = durationRange(least, most)
  return (flag, text) => {
    const parsed = parseDuration(text, range)
    if (!parsed.ok) throw new UsageError('flag-value', `${flag}: ${textOf(parsed.problem)}`)
    return parsed.value
  }
}

/** How long a command may wait. A timer takes 24 days at most; one beyond that ends at once. */
export const duration = durationWithin('1s', '7d')

/** 0 picks a free one. @throws UsageError that names the flag */
export const port = wholeNumber(0, 65_535)
