import assert from 'node:assert/strict'
import { test } from 'node:test'
import { proves, sameName } from '../../rollouts/image.ts'
import { type Note, noteKey, readNotes, writeNote } from '../../rollouts/pod-note.ts'
import { NOW } from './pods.ts'

test('a note is read as it was written; anything else counts as none', () => {
  const note: Note = {
    rollout: 'u',
    revision: 2,
    from: 'a',
    wanted: 'b',
    effective: 'mirror/b',
    base: 'o',
    back: true,
    gen: 3,
    ids: ['c', 'd'],
    keep: ['k'],
    between: true,
    images: ['i'],
    ready: true,
    at: NOW,
  }
  const key = noteKey('envoy')
  assert.deepEqual([...readNotes({ [key]: writeNote(note), other: '{}' })], [['envoy', note]])
  const plain = { ...note, effective: undefined, keep: [], between: false, images: [], ready: false }
  assert.deepEqual([...readNotes({ [key]: writeNote(plain) }).values()], [plain])
  const broken = writeNote(note).replace('"u"', '1')
  for (const text of ['', 'null', '[]', '{}', '1', '{"at":"x"}', '{"to":1}', broken]) {
    assert.equal(readNotes({ [key]: text }).size, 0, text)
  }
})

test('references name the same image in full', () => {
  for (const [one, other] of [
    ['docker.io/library/envoy:latest', 'envoy'],
    ['docker.io/envoy:v1', 'docker.io/library/envoy:v1'],
    ['docker.io/example/envoy:v1', 'example/envoy:v1'],
    ['localhost:5000/envoy:v1', 'localhost:5000/envoy:v1'],
    ['r.io/e@sha256:aa', 'r.io/e:v1@sha256:aa'],
  ] as const) {
    assert.ok(sameName(one, other), `${one} ${other}`)
  }
  for (const [one, other] of [
    ['docker.io/library/envoy:v1', 'envoy:v2'],
    ['docker.io/example/envoy:v1', 'quay.io/example/envoy:v1'],
    ['localhost:5000/envoy:latest', 'localhost:5001/envoy'],
    ['sha256:aa', 'anything'],
  ] as const) {
    assert.ok(!sameName(one, other), `${one} ${other}`)
  }
})

test('an image whose name is nothing but marks holds nothing up', () => {
  // Minutes of work if from each mark the end were looked for.
  for (const name of [`${':'.repeat(400_000)}/`, `${'@'.repeat(400_000)}\nx\n`, `${':@'.repeat(200_000)}/`]) {
    assert.ok(!sameName(name, 'envoy'))
    assert.ok(!proves({ image: 'envoy', imageId: 'sha256:1' }, name))
  }
})

test('a digest proves an image, and so does its full name; nothing proves another', () => {
  const digest = `sha256:${'a'.repeat(64)}`
  const status = { image: 'docker.io/library/envoy:v1', imageId: `docker.io/library/envoy@${digest}` }
  assert.ok(proves(status, `envoy:v9@${digest}`))
  assert.ok(proves(status, 'envoy:v1'))
  assert.ok(!proves(status, 'envoy:v2'))
  assert.ok(!proves({ image: digest, imageId: digest }, 'envoy:v1'))
})
