// What people type stays in their browser, so that a reload or a closed tab loses nothing.

/**
 * @import { WhatIf } from './what-if.js'
 * @typedef {object} Draft
 * @property {string} [text] what was typed
 * @property {string} [aside] what was typed before an example or a link took its place
 * @property {WhatIf} [whatIf]
 */

const key = 'sidecar-first.draft'
/** Of the format: a draft of another one is left alone. */
const version = 1
/** In characters. Browsers give a site about five million. */
const most = 1_000_000

/** @returns {Draft | undefined} undefined if the user wants none kept */
export function loadDraft() {
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? '{}')
    if (kept.keep === false) return undefined
    if (kept.version !== version) return {}
    const { text, aside, whatIf } = kept
    return {
      ...(typeof text === 'string' && { text }),
      ...(typeof aside === 'string' && { aside }),
      ...(typeof whatIf === 'object' && whatIf !== null && { whatIf }),
    }
  } catch {
    // Storage is off, or holds what we didn't write.
    return {}
  }
}

/** @param {Draft | undefined} draft undefined: forget it, and keep none from now on */
export function saveDraft(draft) {
  try {
    const text = JSON.stringify(draft === undefined ? { keep: false } : { version, ...draft })
    if (text.length <= most) localStorage.setItem(key, text)
    else localStorage.removeItem(key)
  } catch {
    // Storage is off or full; the page works without.
  }
}
