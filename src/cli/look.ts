import { styleText } from 'node:util'
import type { Terminal } from './command.ts'

/** What an output can show. */
export interface Look {
  /** Characters in a line. */
  readonly width: number
  readonly color: boolean
  /** Otherwise ASCII. */
  readonly unicode: boolean
}

export type Style = Parameters<typeof styleText>[0]

/** A file or a pipe has no width of its own, and then this one fits most. */
const defaultWidth = 100

/** What a terminal can show; the locale's variables as POSIX ranks them. */
export function lookOf({ stdout, color }: Pick<Terminal, 'stdout' | 'color'>, env: NodeJS.ProcessEnv): Look {
  const width = 'columns' in stdout && typeof stdout.columns === 'number' ? stdout.columns : defaultWidth
  return { width, color, unicode: /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || '') }
}

/** Whether a terminal shows colors is known, so that styleText need not ask. */
export function styled({ color }: Pick<Look, 'color'>, style: Style, text: string): string {
  return color ? styleText(style, text, { validateStream: false }) : text
}
