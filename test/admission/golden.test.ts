import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { defaultConfiguration } from '../../src/admission/configuration.ts'
import { decide } from '../../src/admission/decide.ts'
import type { Decision } from '../../src/admission/decision.ts'
import { shellScript } from '../../src/admission/shell.ts'
import { readManifests } from '../../src/preview/manifests.ts'
import { after, type Container, names, type Pod } from './pods.ts'

/**
 * `NAME.yaml` is a Pod, `NAME.json` what is decided of it. UPDATE_GOLDEN=1 writes what is missing or stale, for a person to read in
 * the diff.
 */
const folder = join(import.meta.dirname, '../golden')
const update = process.env.UPDATE_GOLDEN === '1'
const configuration = defaultConfiguration('0.0.0-golden')
const cases = globSync('*.yaml', { cwd: folder }).map((file) => basename(file, '.yaml'))

for (const name of cases) {
  const pod = readPod(name)
  const decision = decide(pod, configuration)

  test(`${name} is decided as its golden file says`, () => {
    const file = join(folder, `${name}.json`)
    const text = `${JSON.stringify(decision, readable, 2)}\n`
    if (update) writeFileSync(file, text)
    assert.ok(existsSync(file), `${name}.json is missing; UPDATE_GOLDEN=1 npm test writes it`)
    assert.equal(text, readFileSync(file, 'utf8'), `${name}.json is stale; UPDATE_GOLDEN=1 npm test refreshes it`)
  })

  if (decision.verdict !== 'patched') continue
  test(`${name} is unchanged the second time`, () => {
    assert.equal(decide(after(pod, decision), configuration).verdict, 'unchanged')
  })
  test(`${name} with another injector's container put first takes only moves`, () => {
    assertPutRight(after(pod, decision), decision)
  })
}

test('there is a manifest for each golden file', () => {
  assert.ok(cases.length > 40)
  for (const file of globSync('*.json', { cwd: folder })) assert.ok(cases.includes(basename(file, '.json')), file)
})

function readPod(name: string): Pod {
  const manifests = readManifests(readFileSync(join(folder, `${name}.yaml`), 'utf8'))
  assert.ok(manifests.ok, manifests.ok ? '' : manifests.problems.map(({ message }) => message).join('; '))
  assert.equal(manifests.documents.length, 1)
  return manifests.documents[0]?.value as Pod
}

function assertPutRight(patched: Pod, { tiers }: Extract<Decision, { verdict: 'patched' }>): void {
  const sidecars = new Set(tiers.flat().map(({ name }) => name))
  const foreign: Container = { name: 'foreign', image: 'foreign' }
  const injected: Pod = { ...patched, spec: { ...patched.spec, containers: [foreign, ...patched.spec.containers] } }
  const decision = decide(injected, configuration)
  const regular = names(patched).filter((name) => sidecars.has(name))
  if (regular.length === 0) {
    assert.equal(decision.verdict, 'unchanged', 'init containers come before the foreign one anyway')
    return
  }
  assert.equal(decision.verdict, 'patched')
  assert.ok(decision.verdict === 'patched' && decision.patch.every(({ op }) => op === 'move'), JSON.stringify(decision))
  assert.deepEqual(names(after(injected, decision)).slice(0, regular.length), regular)
}

/** Readable for people: big integers marked, the shell form's script by its name. */
function readable(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value === shellScript ? '<shellScript>' : value
}
