/**
 * @import { PreviewResult } from '../preview/preview.ts'
 * @import { underKubernetes } from '../preview/kubernetes.ts'
 * @import { Mistake } from '../preview/failure.ts'
 * @import { Failure } from './problems.js'
 * @import { WhatIf } from './what-if.js'
 * @typedef {{ kubernetes: ReturnType<typeof underKubernetes>, results: readonly PreviewResult[], manifests: string, notices?: readonly Mistake[] }} Previews
 * @typedef {{ manifests: string } & WhatIf} Question
 * @typedef {object} Answers called one at a time, and only for the newest question
 * @property {(question: Question, previews: Previews) => void} shown
 * @property {(failure: Failure) => void} failed for a reason that asking again doesn't change
 * @property {(failure: Failure) => void} unanswered it is asked again by itself
 * @property {() => void} slow there is no answer yet
 */

/** How long an answer may take before that is said, in milliseconds. */
const patience = 700
/** Between two attempts to reach the server, in milliseconds: twice as long each time. */
const again = { shortest: 1000, first: 2000, longest: 30_000 }

/** @type {Failure} */
const unreachable = {
  error: 'the server does not answer; trying again',
  problems: [
    'if it was restarted, it may have a new certificate: copy a link, which keeps the manifest, and open the link in a new tab',
  ],
}

/**
 * Asks the server, the newest question only: an older one's answer would be stale.
 * @param {Answers} answers
 */
export function createAsking({ shown, failed, unanswered, slow }) {
  /** @type {AbortController | undefined} */
  let current
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  let pause = again.first

  /**
   * @param {() => Question} question
   * @param {number} milliseconds to wait for another key
   */
  function ask(question, milliseconds) {
    stop()
    timer = setTimeout(() => send(question), milliseconds)
  }

  function stop() {
    clearTimeout(timer)
    current?.abort()
  }

  /** @param {() => Question} question */
  async function send(question) {
    const asked = question()
    const own = new AbortController()
    current = own
    const late = setTimeout(slow, patience)
    try {
      const response = await fetch(...request(asked, own.signal))
      const retry = response.headers.get('retry-after')
      const answer = await response.json()
      if (own.signal.aborted) return
      pause = again.first
      if (response.ok) shown(asked, answer)
      // Too busy: that passes.
      else if (retry !== null) ask(question, pauseOf(retry, Date.now()))
      else failed(answer)
    } catch {
      if (own.signal.aborted) return
      unanswered(unreachable)
      ask(question, pause)
      pause = Math.min(2 * pause, again.longest)
    } finally {
      clearTimeout(late)
    }
  }

  return { ask, stop }
}

/**
 * How long to wait before the server is asked again, in milliseconds: a proxy may say it as a date, or anything.
 * @param {string} retryAfter
 * @param {number} now
 */
export function pauseOf(retryAfter, now) {
  const seconds = Number(retryAfter)
  const said = Number.isNaN(seconds) ? Date.parse(retryAfter) - now : 1000 * seconds
  return Number.isNaN(said) ? again.first : Math.min(Math.max(said, again.shortest), again.longest)
}

/**
 * @param {Question} question
 * @param {AbortSignal} signal
 * @returns {[string, RequestInit]}
 */
function request({ manifests, configuration, settings, namespace }, signal) {
  const parts = [
    ['include', 'manifests'],
    ['include', 'edits'],
    ...(namespace === undefined ? [] : [['namespace', namespace]]),
  ]
  const query = new URLSearchParams(parts)
  const more = configuration !== undefined || settings !== undefined
  const [type, body] = more
    ? ['application/vnd.sidecar-first.preview+json', JSON.stringify({ manifests, configuration, settings })]
    : ['application/yaml', manifests]
  const headers = { 'content-type': type, accept: 'application/json' }
  return [`preview?${query}`, { method: 'POST', headers, body, signal }]
}
