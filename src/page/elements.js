/** @typedef {Node | string | false | undefined} Child */

/**
 * An element with attributes and children. User input never goes through HTML.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Readonly<Record<string, string>>} attributes
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function element(tag, attributes, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children.filter((child) => child !== false && child !== undefined))
  return made
}

/**
 * The element with an id, which must be of a type.
 * @template {HTMLElement} T
 * @param {string} id
 * @param {{ new (): T }} type
 */
export function byId(id, type) {
  const found = document.getElementById(id)
  if (!(found instanceof type)) throw new Error(`the page has no ${id}`)
  return found
}

/**
 * The same for SVG.
 * @param {string} tag
 * @param {Readonly<Record<string, string | number>>} attributes
 * @param {...(Node | string)} children
 */
export function shape(tag, attributes, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value))
  made.append(...children)
  return made
}

/**
 * @param {string} label
 * @param {() => void} pressed
 * @param {string} [kind]
 */
export function button(label, pressed, kind = '') {
  const made = element('button', { type: 'button', class: kind }, label)
  made.addEventListener('click', pressed)
  return made
}

/**
 * @param {string} label
 * @param {() => string | Promise<string>} text
 */
export function copyButton(label, text) {
  const made = button(label, () => copy(made, text))
  return made
}

/**
 * @param {string} label
 * @param {string} name of the file
 * @param {() => string} text
 */
export function downloadButton(label, name, text) {
  return button(label, () => {
    const url = URL.createObjectURL(new Blob([text()], { type: 'application/octet-stream' }))
    element('a', { href: url, download: name }).click()
    // Firefox begins to read it later.
    setTimeout(() => URL.revokeObjectURL(url), 10_000)
  })
}

/**
 * Copies a text to the clipboard and shows that on the button for a moment.
 * @param {HTMLButtonElement} pressed
 * @param {() => string | Promise<string>} text
 */
export async function copy(pressed, text) {
  const label = pressed.dataset.label ?? pressed.textContent ?? ''
  pressed.dataset.label = label
  try {
    await navigator.clipboard.writeText(await text())
    pressed.textContent = 'Copied'
  } catch (error) {
    pressed.textContent = error instanceof RangeError ? error.message : 'Copying is not allowed'
  }
  setTimeout(() => {
    pressed.textContent = label
  }, 1500)
}

/**
 * A list of names in a sentence: `a, b and c`; of many, the first ones.
 * @param {readonly string[]} names
 * @param {'and' | 'or'} word
 */
export function listed(names, word = 'and') {
  const shown =
    names.length > mostListed ? [...names.slice(0, mostListed - 1), `${names.length - mostListed + 1} more`] : names
  return new Intl.ListFormat('en-GB', { type: word === 'and' ? 'conjunction' : 'disjunction' }).format(shown)
}
/** Names in a sentence; nobody reads thirty. */
const mostListed = 5

/**
 * @param {number} count
 * @param {string} noun
 */
export const counted = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`

/**
 * Text in which backticks mark code.
 * @param {string} text
 * @returns {Child[]}
 */
export const prose = (text) =>
  text.split('`').map((part, index) => (index % 2 === 1 ? element('code', {}, part) : part))
