import { createHash } from 'node:crypto'
import { printable } from '../admission/words/printable.ts'

/** Markup that is safe to show as it stands: `html` makes it, or somebody who vouches for it. */
export class Html {
  readonly markup: string
  constructor(markup: string) {
    this.markup = markup
  }
}

type Part = string | number | Html | readonly Html[] | undefined

/** Markup with values. A text among them is shown as text, whoever wrote it; undefined is nothing. */
export function html({ raw }: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(raw.map((text, index) => text + markupOf(index < parts.length ? parts[index] : undefined)).join(''))
}

function markupOf(part: Part): string {
  if (part === undefined) return ''
  if (part instanceof Html) return part.markup
  if (typeof part === 'object') return part.map(({ markup }) => markup).join('')
  return escaped(String(part))
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
/** Longer than any text of ours, shorter than what would hide the rest of a page. */
const mostText = 4096
const escaped = (text: string): string =>
  printable(text, mostText).replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')

/**
 * A whole page in one file that asks nothing of any network: the browser may load and run nothing but this style.
 * @param style CSS of ours, without a value of anybody's
 */
export function htmlPage({ title, style, body }: { title: string; style: string; body: Html }): string {
  const hash = createHash('sha256').update(style).digest('base64')
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Html(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
${body}
</body>
</html>
`.markup
}
