/** `warning`: it works, but somebody should know. */
export type Level = 'ok' | 'warning' | 'problem'

export interface Finding {
  readonly level: Level
  /** One sentence, without a full stop. */
  readonly text: string
  /** What to do: a sentence, or a command to paste. */
  readonly next?: string
}

export const ok = (text: string): Finding => ({ level: 'ok', text })
export const warning = (text: string, next?: string): Finding => finding('warning', text, next)
export const problem = (text: string, next?: string): Finding => finding('problem', text, next)

function finding(level: Level, text: string, next: string | undefined): Finding {
  return next === undefined ? { level, text } : { level, text, next }
}
