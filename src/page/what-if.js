import { byId, element } from './elements.js'

/**
 * @import { underKubernetes } from '../preview/kubernetes.ts'
 * @import { vocabulary } from '../preview/vocabulary.ts'
 * @typedef {typeof vocabulary} Vocabulary
 * @typedef {object} WhatIf what the manifests are previewed under; what is missing is as the server has it
 * @property {string} [configuration] a configuration file
 * @property {Readonly<Record<string, string | readonly string[]>>} [settings]
 * @property {string} [namespace]
 */

const form = byId('settings', HTMLFormElement)
const summary = byId('what-if', HTMLElement)
const presets = byId('presets', HTMLElement)

/** The settings that are lists. */
const lists = ['presets', 'injected']

/** Makes the choices of the form, which the server knows. @param {Vocabulary} vocabulary */
export function offerSettings(vocabulary) {
  for (const [name, values] of Object.entries(vocabulary.settings)) {
    const select = form.elements.namedItem(name)
    if (!(select instanceof HTMLSelectElement)) continue
    const options = values.map((value) => element('option', { value }, value))
    select.replaceChildren(element('option', { value: '' }, 'as configured'), ...options)
  }
  presets.replaceChildren(
    ...vocabulary.presets.map(({ name, title }) =>
      element('label', {}, element('input', { type: 'checkbox', name: 'presets', value: name }), ` ${title}`),
    ),
  )
}

/** @returns {WhatIf} what the form says, without the configuration file */
export function readSettings() {
  /** @type {Record<string, string | string[]>} */
  const settings = {}
  let namespace = ''
  for (const [name, given] of new FormData(form)) {
    const value = String(given).trim()
    if (value === '') continue
    if (name === 'namespace') namespace = value
    else if (lists.includes(name)) settings[name] = [...(settings[name] ?? []), ...(value.match(/[^\s,]+/g) ?? [])]
    else settings[name] = value
  }
  return { ...(Object.keys(settings).length > 0 && { settings }), ...(namespace !== '' && { namespace }) }
}

/** @param {WhatIf} whatIf */
export function showSettings({ settings = {}, namespace = '' }) {
  for (const field of form.elements) {
    if (field instanceof HTMLInputElement && field.type === 'checkbox') {
      field.checked = [settings.presets].flat().includes(field.value)
    } else if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) {
      const value = [field.name === 'namespace' ? namespace : (settings[field.name] ?? '')].flat().join(', ')
      // A link may bring a version that isn't offered.
      if (field.name === 'kubernetesVersion' && !field.textContent?.includes(value)) field.append(new Option(value))
      field.value = value
    }
  }
}

/** Says in the closed drawer, too, what differs from the server. @param {WhatIf} whatIf */
export function summarize({ configuration, settings = {}, namespace }) {
  const parts = [
    ...(configuration === undefined ? [] : ['your configuration file']),
    ...Object.entries(settings).map(([name, value]) => `${words[name] ?? name} ${[value].flat().join(', ')}`),
    ...(namespace === undefined ? [] : [`namespace ${namespace}`]),
  ]
  summary.textContent = parts.length === 0 ? 'as this server is configured' : parts.join(', ')
}

/** Which version the answer is for, where none is chosen. @param {ReturnType<typeof underKubernetes>} under */
export function showKubernetes({ version, assumed }) {
  const standard = byId('under', HTMLElement).querySelector('option[value=""]')
  if (standard === null || readSettings().settings?.kubernetesVersion !== undefined) return
  standard.textContent = `${version} (${assumed ? 'the newest; none is configured' : 'as configured'})`
}

/** @type {Readonly<Record<string, string>>} */
const words = { kubernetesVersion: 'Kubernetes', nativePosition: 'native position', lockRestarts: 'later starts wait' }

/**
 * What somebody sent in a link, or that was kept: undefined unless it is what the page writes.
 * @param {unknown} given
 * @returns {WhatIf | undefined}
 */
export function checkWhatIf(given) {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined
  const { configuration, settings, namespace, ...others } = /** @type {Record<string, unknown>} */ (given)
  const isText = (/** @type {unknown} */ value) => typeof value === 'string'
  const fits =
    Object.keys(others).length === 0 &&
    [configuration, namespace].every((value) => value === undefined || isText(value)) &&
    (settings === undefined ||
      (typeof settings === 'object' &&
        settings !== null &&
        !Array.isArray(settings) &&
        Object.entries(settings).every(([name, value]) =>
          lists.includes(name)
            ? Array.isArray(value) && value.every(isText)
            : isText(value) && form.elements.namedItem(name),
        )))
  return fits ? /** @type {WhatIf} */ (given) : undefined
}
