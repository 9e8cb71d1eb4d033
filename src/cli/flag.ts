import { quote } from '../admission/quote.ts'
import { UsageError } from './command.ts'

/** @throws UsageError that names the flag and the choices */
export function oneOf<T extends string>(flag: string, text: string, choices: readonly T[]): T {
  const choice = choices.find((name) => name === text)
  if (choice !== undefined) return choice
  const list = `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`
  throw new UsageError(`${flag} takes ${list}, not ${quote(text)}`)
}

/** @throws UsageError that names the flag and its bounds */
export function wholeNumber(flag: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (!/^\d{1,9}$/.test(text) || value < least || value > most) {
    throw new UsageError(`${flag} takes a number from ${least} to ${most}, not ${quote(text)}`)
  }
  return value
}

/** 0 picks a free one. @throws UsageError that names the flag */
export const port = (flag: string, text: string): number => wholeNumber(flag, text, 0, 65_535)
