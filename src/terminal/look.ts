import { styleText } from 'node:util'
import type { Terminal } from './command.ts'

/** What an output can show. */
export interface Look {
  /** Characters in a line. */
  readonly width: number
  readonly color: boolean
  /** Otherwise ASCII. */
  readonly unicode: boolean
  /** Whether a terminal shows it. A file or a pipe gets every character as it is. */
  readonly terminal: boolean
}

export type Style = Parameters<typeof styleText>[0]

/** A file or a pipe has no width; this one fits most. */
const defaultWidth = 100

/** What a terminal can show; the locale's variables as POSIX ranks them. */
export function lookOf({ stdout, color }: Pick<Terminal, 'stdout' | 'color'>, env: NodeJS.ProcessEnv): Look {
  const width = 'columns' in stdout && typeof stdout.columns === 'number' ? stdout.columns : defaultWidth
  const unicode = /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || '')
  return { width, color, unicode, terminal: 'isTTY' in stdout && stdout.isTTY === true }
}

/** We know whether the terminal shows colors, so styleText doesn't have to ask. */
export function styled({ color }: Pick<Look, 'color'>, style: Style, text: string): string {
  return color ? styleText(style, text, { validateStream: false }) : text
}

/** Lines from somebody's manifest without the characters that a terminal obeys, or that reorder what it shows. */
export const harmless = (text: string): string => text.replaceAll(/[^\P{Cc}\n\r\t]|\r(?!\n)|\p{Bidi_Control}/gu, '?')

/** What programs read as well: to a file or a pipe every character as it is. */
export const exact = (text: string, { terminal }: Pick<Look, 'terminal'>): string => (terminal ? harmless(text) : text)
