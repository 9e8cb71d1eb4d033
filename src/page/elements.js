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
  } catch {
    pressed.textContent = 'Copying is not allowed'
  }
  setTimeout(() => {
    pressed.textContent = label
  }, 1500)
}

/**
 * A list of names in a sentence: `a, b and c`.
 * @param {readonly string[]} names
 */
export const listed = (names) =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

/**
 * @param {number} count
 * @param {string} noun
 */
export const counted = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`
