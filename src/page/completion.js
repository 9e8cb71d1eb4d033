import { completionsAt } from './completions-at.js'
import { element } from './elements.js'

/**
 * @import { Completions } from './completions-at.js'
 * @import { createEditor } from './editor.js'
 * @import { Vocabulary } from './what-if.js'
 */

/**
 * Offers our annotations, their values and the names of containers, in a listbox below the cursor. The focus stays in the text; screen readers
 * are told of the option by `aria-activedescendant`.
 * @param {ReturnType<typeof createEditor>} editor
 * @param {Vocabulary} vocabulary
 */
export function completeIn(editor, vocabulary) {
  const { area } = editor
  const id = `${area.id}-completions`
  const list = element('ul', { id, class: 'completions', role: 'listbox', 'aria-label': 'Completions' })
  const said = element('p', { class: 'unseen', 'aria-live': 'polite' })
  list.hidden = true
  area.parentElement?.append(list, said)
  area.setAttribute('aria-autocomplete', 'list')
  /** @type {Completions | undefined} */
  let open
  let chosen = 0

  function close() {
    open = undefined
    list.hidden = true
    area.removeAttribute('aria-activedescendant')
    area.removeAttribute('aria-controls')
    said.textContent = ''
  }

  /** @param {boolean} asked by the user, not by typing */
  function show(asked) {
    const found =
      area.selectionStart === area.selectionEnd && completionsAt(area.value, area.selectionStart, vocabulary, asked)
    if (!found || found.candidates.length === 0) return close()
    open = found
    list.replaceChildren(
      ...found.candidates.map(({ text, says }, index) => {
        const option = element(
          'li',
          { id: `${id}-${index}`, role: 'option' },
          element('code', {}, text.replace(/: $/, '')),
          says !== '' && ` ${says}`,
        )
        option.addEventListener('click', () => take(index))
        return option
      }),
    )
    list.hidden = false
    area.setAttribute('aria-controls', id)
    choose(0)
    place(list, area)
    const { length } = found.candidates
    said.textContent = `${length} ${length === 1 ? 'completion' : 'completions'}`
  }

  /** @param {number} index */
  function choose(index) {
    chosen = index
    for (const [each, option] of [...list.children].entries())
      option.setAttribute('aria-selected', String(each === index))
    area.setAttribute('aria-activedescendant', `${id}-${index}`)
  }

  /** @param {number} index */
  function take(index) {
    const found = open
    const candidate = found?.candidates[index]
    close()
    if (found === undefined || candidate === undefined) return
    editor.edit([{ start: found.from, end: found.to, text: candidate.text }])
  }

  area.addEventListener('input', (event) => {
    const typed = event instanceof InputEvent && event.inputType === 'insertText' && event.data?.length === 1
    if (typed || open !== undefined) show(false)
  })
  area.addEventListener('keydown', (event) => {
    if (event.key === ' ' && event.ctrlKey) {
      event.preventDefault()
      show(true)
      return
    }
    if (open === undefined) return
    const { length } = open.candidates
    if (event.key === 'ArrowDown') choose((chosen + 1) % length)
    else if (event.key === 'ArrowUp') choose((chosen + length - 1) % length)
    else if (event.key === 'Enter') take(chosen)
    else {
      if (['Escape', 'ArrowLeft', 'ArrowRight', 'Home', 'End', 'Tab', 'PageUp', 'PageDown'].includes(event.key)) close()
      if (event.key !== 'Escape') return
    }
    event.preventDefault()
  })
  // The focus stays in the text.
  list.addEventListener('mousedown', (event) => event.preventDefault())
  area.addEventListener('blur', close)
  area.addEventListener('pointerdown', close)
  area.addEventListener('scroll', close)
}

/**
 * Below the cursor, or above it where there is no room. The font has one width for all characters.
 * @param {HTMLElement} list
 * @param {HTMLTextAreaElement} area
 */
function place(list, area) {
  const before = area.value.slice(0, area.selectionStart)
  const row = before.split('\n').length - 1
  const column = before.length - before.lastIndexOf('\n') - 1
  const { lineHeight, fontSize, paddingTop, paddingLeft } = getComputedStyle(area)
  const tall = Number.parseFloat(lineHeight)
  const top = Number.parseFloat(paddingTop) + row * tall - area.scrollTop
  const left = Number.parseFloat(paddingLeft) + column * Number.parseFloat(fontSize) * 0.6 - area.scrollLeft
  const below = top + tall + list.offsetHeight <= area.clientHeight
  list.style.top = `${Math.max(0, below ? top + tall : top - list.offsetHeight)}px`
  list.style.left = `${Math.max(0, Math.min(left, area.clientWidth - list.offsetWidth))}px`
}
