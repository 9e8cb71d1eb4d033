import { manifestChanges } from './changes.js'
import { createEditor } from './editor.js'
import { button, copy, counted } from './elements.js'
import { fromFragment, toFragment } from './link.js'
import { placesOf, problemCard } from './problems.js'
import { graveOf, refusalsOf, resultCards, titleOf } from './results.js'

/** @import { PreviewResult } from '../preview/preview.ts' */
/** @typedef {{ results: readonly PreviewResult[], manifests: string }} Previews */
/** @typedef {{ error: string, problems: readonly string[] }} Failure */

/** @type {Failure} */
const unreachable = {
  error: 'the server does not answer',
  problems: [
    'if it was restarted, it has a new certificate: copy a link, which keeps the manifest, and open the link in a new tab',
  ],
}
/** How long to wait after the last key before asking the server, in milliseconds. */
const pause = 200
/** The server's own limit, in bytes. */
const most = 7 * 1024 * 1024

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @param {{ new (): T }} type
 */
function byId(id, type) {
  const found = document.getElementById(id)
  if (!(found instanceof type)) throw new Error(`the page has no ${id}`)
  return found
}

const editor = createEditor(byId('editor', HTMLElement))
const results = byId('results', HTMLElement)
const status = byId('status', HTMLElement)
const file = byId('file', HTMLInputElement)

/** @type {AbortController | undefined} the request in flight; aborted when a newer one is made, as its answer would be stale */
let asking
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer

editor.area.addEventListener('input', () => askSoon(pause))
for (const example of document.querySelectorAll('[data-example]')) {
  example.addEventListener('click', () => showExample(example.getAttribute('data-example') ?? ''))
}
byId('link', HTMLButtonElement).addEventListener('click', ({ currentTarget }) => {
  copy(/** @type {HTMLButtonElement} */ (currentTarget), async () => {
    history.replaceState(null, '', await toFragment(editor.text))
    return location.href
  })
})
byId('open', HTMLButtonElement).addEventListener('click', () => file.click())
file.addEventListener('change', async () => {
  await readFiles([...(file.files ?? [])])
  // Lets people choose the same file again.
  file.value = ''
})
document.addEventListener('dragover', (event) => {
  if (!event.dataTransfer?.types.includes('Files')) return
  event.preventDefault()
  document.body.classList.add('dropping')
})
document.addEventListener('dragleave', (event) => {
  if (event.relatedTarget === null) document.body.classList.remove('dropping')
})
document.addEventListener('drop', (event) => {
  document.body.classList.remove('dropping')
  const files = [...(event.dataTransfer?.files ?? [])]
  if (files.length === 0) return
  event.preventDefault()
  readFiles(files)
})
window.addEventListener('hashchange', showLink)

if (!(await showLink())) {
  // After a reload the browser restores what was typed.
  if (editor.text === '') await showExample('database-proxy')
  else show(editor.text)
}

/** @param {string} text */
function show(text) {
  editor.replace(text)
  askSoon(0)
}

/** @param {string} name */
async function showExample(name) {
  const before = editor.text
  try {
    const response = await fetch(`page/examples/${name}.yaml`)
    const text = await response.text()
    // Keep what was typed in the meantime.
    if (response.ok && editor.text === before) show(text)
  } catch {
    showFailure(unreachable)
  }
}

/** Whether the page was opened by a link with a manifest. */
async function showLink() {
  try {
    const text = await fromFragment(location.hash)
    if (text !== undefined) show(text)
    return text !== undefined
  } catch {
    showFailure({ error: 'the link is damaged: it contains no readable manifest', problems: [] })
    return true
  }
}

/** @param {readonly File[]} files */
async function readFiles(files) {
  const size = files.reduce((sum, each) => sum + each.size, 0)
  if (size > most) {
    showFailure({ error: `${files.map(({ name }) => name).join(', ')}: more than 7 MiB`, problems: [] })
    return
  }
  const texts = await Promise.all(files.map((each) => each.text()))
  show(texts.reduce((all, text) => `${all}${all.endsWith('\n') ? '' : '\n'}---\n${text}`))
}

/** @param {number} milliseconds */
function askSoon(milliseconds) {
  clearTimeout(timer)
  asking?.abort()
  timer = setTimeout(ask, milliseconds)
}

async function ask() {
  const text = editor.text
  if (text.trim() === '') {
    status.textContent = 'Nothing yet.'
    results.replaceChildren()
    return
  }
  const current = new AbortController()
  asking = current
  results.setAttribute('aria-busy', 'true')
  try {
    const response = await fetch('preview?include=manifests', {
      method: 'POST',
      headers: { 'content-type': 'application/yaml', accept: 'application/json' },
      body: text,
      signal: current.signal,
    })
    const answer = await response.json()
    if (current.signal.aborted) return
    if (response.status === 429) askSoon(1000 * Number(response.headers.get('retry-after') ?? 1))
    else if (response.ok) showPreviews(text, answer)
    else showFailure(answer)
  } catch {
    if (current.signal.aborted) return
    showFailure(unreachable)
  }
  results.removeAttribute('aria-busy')
}

/**
 * @param {string} text
 * @param {Previews} previews
 */
function showPreviews(text, { results: previewed, manifests }) {
  editor.mark(
    previewed.flatMap(refusalsOf).map(({ line, column, code, text }) => ({ line, column, message: `${code} ${text}` })),
  )
  results.replaceChildren(...resultCards(previewed, goTo), manifestChanges(text, manifests))
  status.textContent = summary(previewed)
}

/** @param {readonly PreviewResult[]} previewed */
function summary(previewed) {
  const [first, second] = previewed
  const warnings = previewed.reduce((sum, each) => sum + graveOf(each).length, 0)
  const warned = warnings === 0 ? '' : `, ${counted(warnings, 'warning')}`
  if (first !== undefined && second === undefined) return `${titleOf(first)}: ${first.verdict}${warned}`
  const verdicts = Map.groupBy(previewed, ({ verdict }) => verdict)
  const counts = [...verdicts].map(([verdict, each]) => `${each.length} ${verdict}`)
  return `${previewed.length} objects: ${counts.join(', ')}${warned}`
}

/** @param {Failure} failure */
function showFailure({ error, problems }) {
  const places = placesOf(problems)
  const title = error.charAt(0).toUpperCase() + error.slice(1)
  editor.mark(places)
  results.replaceChildren(problemCard(title, places, goTo))
  const [first] = places.map(({ line, message }) => (line > 0 ? `line ${line}: ${message}` : message))
  status.textContent = first === undefined ? title : `${title}; ${first}`
}

/**
 * @param {number} line
 * @param {number} column
 */
function goTo(line, column) {
  return button(`line ${line}`, () => editor.goTo(line, column), 'place')
}
