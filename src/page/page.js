import { createAsking } from './asking.js'
import { manifestChanges } from './changes.js'
import { completeIn } from './completion.js'
import { loadDraft, saveDraft } from './draft.js'
import { createEditor } from './editor.js'
import { button, byId, copy, counted, element } from './elements.js'
import { readFiles } from './files.js'
import { fromFragment, toFragment } from './link.js'
import { mistakeItem, problemCard, sentence } from './problems.js'
import { graveOf, outlookOf, refusalsOf, resultCards, titleOf } from './results.js'
import { isSuggested } from './suggestion.js'
import { checkWhatIf, offerSettings, readSettings, showKubernetes, showSettings, summarize } from './what-if.js'

/**
 * @import { Mistake } from '../preview/failure.ts'
 * @import { PreviewResult } from '../preview/preview.ts'
 * @import { Previews, Question } from './asking.js'
 * @import { Draft } from './draft.js'
 * @import { Failure, GoTo } from './problems.js'
 * @import { Vocabulary, WhatIf } from './what-if.js'
 */

/** How long to wait after the last key before asking the server, in milliseconds. */
const pause = 200

const manifest = createEditor(byId('editor', HTMLElement))
const configuration = createEditor(byId('configuration-editor', HTMLElement))
const results = byId('results', HTMLElement)
const status = byId('status', HTMLElement)
const drawer = byId('drawer', HTMLDetailsElement)
const configurationMessages = byId('configuration-messages', HTMLElement)
const asideBar = byId('aside', HTMLElement)
const keep = byId('keep', HTMLInputElement)

/** Whether the manifest is the user's, not an example or a link's. */
let own = false
/** The user's manifest while another one is shown. @type {string | undefined} */
let aside
/** What the user has set, while a link's settings are shown. @type {WhatIf | undefined} */
let ownWhatIf
/** While the page puts a text into an editor itself. */
let putting = false

const asking = createAsking({ shown: showPreviews, failed: showFailure, unanswered: showOutage, slow: showBusy })

manifest.area.addEventListener('input', () => {
  if (putting) return
  own = true
  changed(pause)
})
configuration.area.addEventListener('input', () => !putting && setOwn())
for (const id of ['settings', 'under']) byId(id, HTMLElement).addEventListener('input', setOwn)
byId('settings', HTMLFormElement).addEventListener('submit', (event) => event.preventDefault())
for (const example of document.querySelectorAll('[data-example]')) {
  example.addEventListener('click', () => showExample(example.getAttribute('data-example') ?? ''))
}
byId('back', HTMLButtonElement).addEventListener('click', () => {
  const text = aside ?? ''
  aside = own ? manifest.text : undefined
  if (ownWhatIf !== undefined) showWhatIf(ownWhatIf)
  ownWhatIf = undefined
  show(text, { isOwn: true })
  manifest.area.focus()
})
byId('link', HTMLButtonElement).addEventListener('click', ({ currentTarget }) => {
  copy(/** @type {HTMLButtonElement} */ (currentTarget), async () => {
    history.replaceState(null, '', await toFragment(manifest.text, whatIf()))
    return location.href
  })
})
byId('reset', HTMLButtonElement).addEventListener('click', () => {
  showWhatIf({})
  setOwn()
})
keep.addEventListener('change', save)
takeFiles('open', 'file', showFiles)
takeFiles('open-configuration', 'configuration-file', async (files) => {
  const text = await readFiles(files)
  put(() => configuration.replace(text))
  setOwn()
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
  attempt(() => showFiles(files))
})
window.addEventListener('hashchange', showLink)
window.addEventListener('online', () => changed(0))

await loadVocabulary()
await begin()

/** With a link's manifest, what was typed before, or an example. */
async function begin() {
  const draft = loadDraft()
  keep.checked = draft !== undefined
  aside = draft?.text ?? draft?.aside
  const kept = checkWhatIf(draft?.whatIf) ?? {}
  showSettings(kept)
  put(() => configuration.replace(kept.configuration ?? ''))
  if (location.hash !== '' && (await showLink())) return
  // Without a draft the browser may still restore what was typed.
  const text = manifest.text === '' ? aside : manifest.text
  if (text === undefined || text === '') {
    await showExample('database-proxy')
    return
  }
  aside = draft?.text === undefined ? undefined : draft.aside
  show(text, { isOwn: true })
}

async function loadVocabulary() {
  try {
    const response = await fetch('page/vocabulary.json')
    /** @type {Vocabulary} */
    const vocabulary = await response.json()
    byId('version', HTMLElement).textContent = vocabulary.version
    offerSettings(vocabulary)
    completeIn(manifest, vocabulary)
    byId('annotations', HTMLElement).append(
      ...[
        ...vocabulary.annotations,
        ...vocabulary.forContainers.map((word) => ({ ...word, key: `${word.key}CONTAINER` })),
      ].flatMap(({ key, says, values }) => [
        element('dt', {}, element('code', {}, key)),
        element('dd', {}, says, values !== undefined && element('span', {}, `: ${values.join(', ')}`)),
      ]),
    )
  } catch {
    // The page works without; the first question tells that the server is gone.
  }
}

/** @param {() => void} change of an editor by the page */
function put(change) {
  putting = true
  change()
  putting = false
}

/**
 * @param {string} text
 * @param {{ isOwn: boolean }} whose
 */
function show(text, { isOwn }) {
  if (own && manifest.text.trim() !== '' && manifest.text !== text && aside === undefined) aside = manifest.text
  own = isOwn
  put(() => manifest.replace(text))
  changed(0)
}

/** @returns {WhatIf} */
function whatIf() {
  const text = configuration.text
  return { ...(text.trim() !== '' && { configuration: text }), ...readSettings() }
}

/** The user has changed what the manifest is previewed under. */
function setOwn() {
  ownWhatIf = undefined
  changed(pause)
}

/** Whoever calls this also says what has changed by it. @param {WhatIf} given */
function showWhatIf(given) {
  put(() => configuration.replace(given.configuration ?? ''))
  showSettings(given)
}

/** Anything that the result depends on. @param {number} milliseconds */
function changed(milliseconds) {
  asideBar.hidden = aside === undefined
  summarize(whatIf())
  save()
  if (manifest.text.trim() === '') {
    asking.stop()
    status.textContent = 'Nothing yet.'
    replaceResults()
    return
  }
  setStale(true)
  asking.ask(() => ({ manifests: manifest.text, ...whatIf() }), milliseconds)
}

function save() {
  /** @type {Draft} */
  const draft = {
    whatIf: ownWhatIf ?? whatIf(),
    ...(own && { text: manifest.text }),
    ...(aside !== undefined && { aside }),
  }
  saveDraft(keep.checked ? draft : undefined)
}

/** What is shown belongs to another text: it can't be copied. @param {boolean} isStale */
function setStale(isStale) {
  results.setAttribute('aria-busy', String(isStale))
  for (const each of results.querySelectorAll('button')) each.disabled = isStale
}

/** @param {...Node} cards */
function replaceResults(...cards) {
  results.replaceChildren(...cards)
  setStale(false)
}

/** @param {string} name */
async function showExample(name) {
  const before = manifest.text
  try {
    const response = await fetch(`page/examples/${name}.yaml`)
    const text = await response.text()
    // Keep what was typed in the meantime.
    if (response.ok && manifest.text === before) show(text, { isOwn: false })
  } catch {
    // The text that is there is asked about, and asked again.
    changed(0)
  }
}

/** Whether the page was opened by a link with a manifest. */
async function showLink() {
  try {
    const found = await fromFragment(location.hash)
    if (found === undefined) return false
    const given = checkWhatIf(found.whatIf)
    if (given === undefined) throw new TypeError('not what the page writes')
    if (Object.keys(given).length > 0) drawer.open = true
    ownWhatIf ??= whatIf()
    showWhatIf(given)
    show(found.manifest, { isOwn: false })
    return true
  } catch {
    asking.stop()
    asideBar.hidden = aside === undefined
    showFailure({ error: 'the link is damaged: it contains no readable manifest', problems: [] })
    return true
  }
}

/**
 * A button that asks for files.
 * @param {string} opens
 * @param {string} input
 * @param {(files: readonly File[]) => Promise<void>} taken
 */
function takeFiles(opens, input, taken) {
  const field = byId(input, HTMLInputElement)
  byId(opens, HTMLButtonElement).addEventListener('click', () => field.click())
  field.addEventListener('change', async () => {
    const files = [...(field.files ?? [])]
    if (files.length > 0) await attempt(() => taken(files))
    // Lets people choose the same file again.
    field.value = ''
  })
}

/** @param {readonly File[]} files */
async function showFiles(files) {
  show(await readFiles(files), { isOwn: true })
}

/** @param {() => Promise<void>} read of files */
async function attempt(read) {
  try {
    await read()
  } catch (error) {
    asking.stop()
    showFailure({ error: error instanceof RangeError ? error.message : 'the file can not be read', problems: [] })
  }
}

function showBusy() {
  status.textContent = 'Working…'
}

/**
 * @param {Question} question
 * @param {Previews} previews
 */
function showPreviews({ manifests: sent }, { kubernetes, results: previewed, manifests, notices = [] }) {
  showKubernetes(kubernetes)
  manifest.mark(
    previewed.flatMap(refusalsOf).map(({ line, column, code, text }) => ({ line, column, message: `${code} ${text}` })),
  )
  configuration.mark([])
  showNotices(notices)
  replaceResults(...resultCards(previewed, { goTo, add }), manifestChanges(sent, manifests))
  status.textContent = summary(previewed)
}

/** The suggested lines, which the browser's undo takes back. @param {readonly { start: number, end: number, text: string }[]} edits */
function add(edits) {
  put(() => manifest.edit(edits))
  own = true
  changed(0)
  manifest.area.focus()
}

/** @param {readonly Mistake[]} notices about the configuration */
function showNotices(notices) {
  const items = notices.map((notice) => mistakeItem(notice, goTo, false))
  configurationMessages.replaceChildren(...(items.length > 0 ? [element('ul', { class: 'warnings' }, ...items)] : []))
}

/** @param {readonly PreviewResult[]} previewed */
function summary(previewed) {
  const [first, second] = previewed
  const warnings = previewed.reduce((sum, each) => sum + graveOf(each).length, 0)
  const warned =
    (warnings === 0 ? '' : `, ${counted(warnings, 'warning')}`) +
    (previewed.some(isSuggested) ? '; there is a suggestion' : '')
  if (first !== undefined && second === undefined) return `${titleOf(first)}: ${outlookOf(first)}${warned}`
  const verdicts = Map.groupBy(previewed, ({ verdict }) => verdict)
  const counts = [...verdicts].map(([verdict, each]) => `${each.length} ${verdict.replaceAll('-', ' ')}`)
  return `${previewed.length} objects: ${counts.join(', ')}${warned}`
}

/** @param {Failure} failure */
function showOutage(failure) {
  showFailure(failure, () => changed(0))
}

/**
 * @param {Failure} failure
 * @param {() => void} [again]
 */
function showFailure(failure, again) {
  const { error, problems, mistakes = [] } = failure
  for (const [source, editor] of /** @type {const} */ ([
    ['manifests', manifest],
    ['configuration', configuration],
  ])) {
    const wrong = mistakes.filter((mistake) => mistake.source === source)
    editor.mark(wrong.map(({ line, column, code, text }) => ({ line, column, message: `${code} ${text}` })))
    if (source === 'configuration' && wrong.length > 0) drawer.open = true
  }
  showNotices([])
  replaceResults(problemCard(failure, goTo, again))
  const [first] = mistakes.map(({ line, code, text }) => `line ${line}: ${code} ${text}`)
  const said = first ?? problems[0]
  status.textContent = said === undefined ? sentence(error) : `${sentence(error)}; ${said}`
}

/** @type {GoTo} */
function goTo({ source, line, column }) {
  const editor = source === 'configuration' ? configuration : manifest
  return button(
    `line ${line}`,
    () => {
      if (source === 'configuration') drawer.open = true
      editor.goTo(line, column)
    },
    'place',
  )
}
