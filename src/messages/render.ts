import { printable } from '../admission/words/printable.ts'
import { areaOf, areas, type Listed } from './catalogue.ts'

/** Examples have control characters, too. */
const plain = (text: string) => printable(text, 1024)

const grades = {
  refusal: 'refused, not read or not done',
  problem: 'problem',
  warning: 'warning',
  note: 'note',
  ok: 'in order',
} as const

/** What `explain` prints. */
export function explained({ code, grade, text, means, next }: Listed): string {
  return [
    `${code} (${grades[grade]})\n`,
    `  ${plain(text)}\n`,
    ...(means && [`\n  ${means}\n`]),
    ...(next && [`  What to do: ${next}\n`]),
  ].join('')
}

/** `docs/messages.md` */
export function messagesPage(catalogue: readonly Listed[]): string {
  const byArea = Map.groupBy(catalogue, ({ code }) => areaOf(code))
  const sections = Object.entries(areas).map(([number, title]) => {
    const all = byArea.get(Number(number)) ?? []
    const fine = all.filter(({ grade }) => grade === 'ok')
    const rows = fine.map(({ code, text }) => `| ${code} | ${plain(text).replaceAll('|', '\\|')} |\n`).join('')
    const inOrder = `What is found in order:\n\n| code | such as |\n|---|---|\n${rows}\n`
    const entries = all.filter((each) => !fine.includes(each)).map(entry)
    return `## ${title}\n\n${entries.join('')}${fine.length > 0 ? inOrder : ''}`
  })
  return `${head}\n${sections.join('').trimEnd()}\n`
}

function entry({ code, grade, text, means, next }: Listed): string {
  return `### ${code}\n\n\`\`\`text\n${plain(text)}\n\`\`\`\n\n${grades[grade]}. ${means}\n\nWhat to do: ${next}\n\n`.replace(
    /\n\n(\w)/,
    (_, letter) => `\n\n${letter.toUpperCase()}`,
  )
}

const head = `# Messages

Every refusal, warning, note and finding has a code that never changes its meaning. \`sidecar-first explain SF101\` prints an entry of this page. The texts are examples.
Errors over HTTP are JSON: \`{"code": "SF058", "error": "there is no manifest in the body", "problems": []}\`.
What is only progress, such as \`deployment/sidecar-first ready\`, has no code, and neither has \`--help\`.

The hundreds are areas: ${Object.entries(areas)
  .map(([number, title]) => `${number} ${title.charAt(0).toLowerCase()}${title.slice(1)}`)
  .join(', ')}.
`
