import { element, prose } from './elements.js'

/** @typedef {Readonly<Record<string, { means: string, next: string }>>} Meanings by code */

/** @type {Promise<Meanings> | undefined} */
let meanings

/** What `explain` says. Fetched once, when the first message is shown. */
function load() {
  meanings ??= fetch('page/messages.json').then(async (response) => {
    if (!response.ok) throw new Error(String(response.status))
    return await response.json()
  })
  meanings.catch(() => {
    // The next message tries again.
    meanings = undefined
  })
  return meanings
}

/**
 * What a message means and what to do about it, to be opened.
 * @param {string} code
 * @param {boolean} open
 */
export function explanation(code, open) {
  const about = element('span', { class: 'unseen' }, ` about ${code}`)
  const made = element('details', { class: 'explanation' }, element('summary', {}, 'What to do', about))
  let filled = false
  const fill = async () => {
    if (filled) return
    filled = true
    try {
      const { means = '', next = '' } = (await load())[code] ?? {}
      made.append(element('p', {}, ...prose(next)), element('p', { class: 'means' }, ...prose(means)))
    } catch {
      filled = false
      made.open = false
    }
  }
  made.addEventListener('toggle', () => made.open && fill())
  made.open = open
  return made
}
