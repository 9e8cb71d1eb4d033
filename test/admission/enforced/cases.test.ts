import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { review, reviewFinal } from '../../../src/admission/review.ts'
import type { Json } from '../../../src/admission/words/json.ts'
import { applyPatch } from '../../../src/preview/patch.ts'
import { isAcceptable } from './acceptable.ts'
import { alsoTried, type Case, firstPass, legitimate, locksNothing, walkedAround } from './cases.ts'
import { configured, configuredFor, escapesOf, told } from './judged.ts'

/** What the API server does with a pod: our call, and the final one. */
function admitted({ rules, pod }: Case) {
  const configuration = configuredFor(rules)
  const first = review(reviewOf(pod), configuration)
  assert.ok(first.ok)
  if (!first.response.allowed) return { refused: first.reasons }
  const final = first.response.patch === undefined ? pod : applyPatch(pod, JSON.parse(first.response.patch))
  const last = reviewFinal(reviewOf(final), configuration)
  assert.ok(last.ok)
  return { final, late: last.response.allowed ? [] : last.reasons }
}

function reviewOf(object: Json) {
  const kind = { group: '', version: 'v1', kind: 'Pod' }
  const request = { uid: 'u', kind, namespace: 'team', operation: 'CREATE', object }
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }
}

function assertHeld(each: Case) {
  const made = admitted(each)
  if (made.refused !== undefined) return
  const escapes = escapesOf(made.final, each.rules)
  assert.deepEqual(escapes, [], told(escapes, each.rules, made.final, each.pod))
}

describe('a pod that walks around an enforced rule is refused, or its containers are held', () => {
  for (const each of [...walkedAround, ...alsoTried]) {
    test(each.name, () => {
      assert.ok(isAcceptable(each.pod), 'an API server would refuse it')
      assertHeld(each)
    })
    test(`${each.name}: in its final form`, () => {
      const final = reviewFinal(reviewOf(each.pod), configuredFor(each.rules))
      assert.ok(final.ok)
      if (!final.response.allowed) return
      const escapes = escapesOf(each.pod, each.rules)
      assert.deepEqual(escapes, [], told(escapes, each.rules, each.pod))
    })
    test(`${each.name}: whatever \`invalid\` says`, () => {
      const made = admitted({ ...each, rules: { ...each.rules, invalid: 'warn' } })
      if (made.refused !== undefined || made.late.length > 0) return
      const escapes = escapesOf(made.final, each.rules)
      assert.deepEqual(escapes, [], told(escapes, each.rules, made.final, each.pod))
    })
  }
})

describe('what walks around nothing is admitted', () => {
  for (const each of [...legitimate, ...firstPass]) {
    test(each.name, () => {
      assertHeld(each)
      const { refused, late } = admitted(each)
      assert.deepEqual([refused, late], [undefined, []])
    })
  }
})

for (const rules of locksNothing) {
  test(`a configuration whose lock would lock nothing is refused: ${JSON.stringify([rules.defaults, rules.rules])}`, () => {
    assert.equal(configured(rules), undefined)
  })
}
