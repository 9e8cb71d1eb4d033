import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { formatDuration } from '../../src/admission/check/duration.ts'
import { decide } from '../../src/admission/decide.ts'
import type { Decision } from '../../src/admission/decision.ts'
import { lockDir, lockMount, lockVariable, lockVolume } from '../../src/admission/hook/lock-names.ts'
import { lockedScript, shellScript, tierScript } from '../../src/admission/hook/shell.ts'
import { emptyDirVolume, imageVolume, initContainer, waiterMount, waiterPath } from '../../src/admission/hook/waiter.ts'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import type { Json, Operation } from '../../src/admission/words/json.ts'
import { severityOf, textOf } from '../../src/admission/words/messages.ts'
import { readManifests } from '../../src/preview/manifests.ts'
import { problemLine } from '../../src/preview/problems.ts'
import { after, type Container, names, type Pod, reasonsOf } from './pods.ts'

/**
 * `NAME.yaml` is a Pod, `NAME.txt` what is decided of it, by topic. What every pair would repeat stands there as a name in angle brackets;
 * `order/founding-example` shows it all. UPDATE_GOLDEN=1 writes what is missing or stale, for a person to read in the diff.
 */
const folder = join(import.meta.dirname, '../golden')
const whole = 'order/founding-example'
const update = process.env.UPDATE_GOLDEN === '1'
const configuration = defaultConfiguration('0.0.0-golden')
const cases = globSync('*/*.yaml', { cwd: folder })
  .map((file) => file.replace(/\.yaml$/, ''))
  .sort()

for (const name of cases) {
  const pod = readPod(name)
  const decision = decide(pod, configuration)

  test(`${name} is decided as its golden file says`, () => {
    const file = join(folder, `${name}.txt`)
    const text = describe(decision, name === whole)
    if (update) writeFileSync(file, text)
    assert.ok(existsSync(file), `${name}.txt is missing; UPDATE_GOLDEN=1 npm test writes it`)
    assert.equal(text, readFileSync(file, 'utf8'), `${name}.txt is stale; UPDATE_GOLDEN=1 npm test refreshes it`)
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
  for (const file of globSync('**/*.{txt,json}', { cwd: folder })) {
    assert.ok(cases.includes(file.replace(/\.txt$/, '')), file)
  }
})

function readPod(name: string): Pod {
  const manifests = readManifests(readFileSync(join(folder, `${name}.yaml`), 'utf8'))
  assert.ok(manifests.ok, manifests.ok ? '' : manifests.problems.map(problemLine).join('; '))
  assert.equal(manifests.documents.length, 1)
  return manifests.documents[0]?.value as Pod
}

function assertPutRight(patched: Pod, { tiers }: Extract<Decision, { verdict: 'patched' }>): void {
  const sidecars = new Set(tiers.flat().map(({ name }) => name))
  const foreign: Container = { name: 'foreign', image: 'foreign' }
  const injected: Pod = { ...patched, spec: { ...patched.spec, containers: [foreign, ...patched.spec.containers] } }
  const decision = decide(injected, configuration)
  const regular = names(patched).filter((name) => sidecars.has(name))
  const isLocked = JSON.stringify(patched.spec.volumes ?? []).includes(lockVolume)
  const isEnding = JSON.stringify(patched.spec.volumes ?? []).includes('sidecar-first-ends')
  if (regular.length === 0 && !isLocked && !isEnding) {
    assert.equal(decision.verdict, 'unchanged', 'init containers come before the foreign one anyway')
    return
  }
  assert.equal(decision.verdict, 'patched')
  // The foreign one is locked as well, and waited for in the end.
  const isRight = ({ op, path }: Operation) =>
    op === 'move' ||
    (isLocked && path.endsWith('/env')) ||
    (isEnding && /\/(?:lifecycle|preStop|volumeMounts)(?:\/-)?$/.test(path))
  assert.ok(decision.verdict === 'patched' && decision.patch.every(isRight), JSON.stringify(decision))
  const order = names(after(injected, decision))
  assert.deepEqual(order.toSpliced(order.indexOf('foreign'), 1), names(patched), 'all others keep their order')
  assert.ok(order.indexOf('foreign') > order.findLastIndex((name) => sidecars.has(name)))
}

/** A decision in lines: why, what to know, the tiers, the patch. */
function describe(decision: Decision, inFull: boolean): string {
  const tiers = 'tiers' in decision ? decision.tiers : []
  const status = `{"version":"${configuration.version}","gate":"hook",${JSON.stringify({
    tiers: tiers.map((tier) => tier.map(({ name }) => name)),
    checks: Object.fromEntries(tiers.flat().map(({ name, check }) => [name, check])),
  }).slice(1)}`
  const standard = new Map(inFull ? [] : [...standardParts, [JSON.stringify(status), '<status>']])
  return [
    decision.verdict,
    ...reasonsOf(decision).map((reason) => `  ${reason}`),
    ...decision.warnings.map((each) =>
      each.kind === 'adds-empty-dir' && !inFull ? '<costs an emptyDir>' : `${severityOf(each)}: ${textOf(each)}`,
    ),
    ...tiers.map((tier, index) => `tier ${index + 1}: ${tier.map(sidecarLine).join(' + ')}`),
    ...('patch' in decision ? decision.patch.map((operation) => operationLine(operation, standard)) : []),
    '',
  ].join('\n')
}

function sidecarLine({ name, kind, check, timeout, onTimeout }: Extract<Decision, { tiers: unknown }>['tiers'][0][0]) {
  const bound = timeout === undefined ? '' : `, ${formatDuration(timeout)}, then ${onTimeout}`
  return `${name} (${kind === 'polled' ? '' : `${kind}: `}${check}${bound})`
}

function operationLine(operation: Operation, standard: ReadonlyMap<string, string>): string {
  const { op, path } = operation
  if (op === 'move') return `move ${operation.from} to ${path}`
  return op === 'remove' ? `remove ${path}` : `add ${path} ${valueText(operation.value, standard)}`
}

/** JSON on one line, with names for what is always the same. */
function valueText(value: Json, standard: ReadonlyMap<string, string>): string {
  const named = standard.get(JSON.stringify(value, bigText)) ?? (standard.size > 0 ? lockText(value) : undefined)
  if (named !== undefined) return named
  if (Array.isArray(value)) {
    const [program, flag, spec] = value
    if (program === waiterPath && flag === '--spec' && standard.size > 0) return `<wait> ${spec}`
    return `[${value.map((item: Json) => valueText(item, standard)).join(', ')}]`
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value, bigText)
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${valueText(item, standard)}`)
  return `{ ${entries.join(', ')} }`
}

/** A variable or a script of the lock, by what its key ends in. */
function lockText(value: Json): string | undefined {
  const [, number, name = ''] = /SIDECAR_FIRST_READY_(\d+)(\w*)/.exec(JSON.stringify(value, bigText)) ?? []
  if (number === undefined) return undefined
  const key = `SIDECAR_FIRST_READY_${number}${name}`
  if (isDeepStrictEqual(value, lockVariable(key))) return `<lock ${number}${name}>`
  const script = lockedScript({ number: Number(number), key, handOver: 30_000 })
  return value === script ? `<shell script of lock ${number}${name}>` : undefined
}

const bigText = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}n` : value)

const standardParts: readonly (readonly [string, string])[] = [
  [
    JSON.stringify(
      initContainer(configuration.waiter, {
        resources: {},
        dropped: [],
        locked: false,
        runAs: { user: undefined, group: undefined },
      }),
    ),
    '<waiter>',
  ],
  [
    JSON.stringify(
      initContainer(configuration.waiter, {
        resources: {},
        dropped: [],
        locked: true,
        runAs: { user: undefined, group: undefined },
      }),
    ),
    '<waiter that closes the lock>',
  ],
  [JSON.stringify({ name: lockVolume, emptyDir: lockDir }), '<lock volume>'],
  [JSON.stringify(lockMount), '<lock mount>'],
  [JSON.stringify(waiterMount), '<waiter mount>'],
  [JSON.stringify(emptyDirVolume), '<emptyDir volume>'],
  [JSON.stringify(imageVolume(configuration.waiter)), '<image volume>'],
  [JSON.stringify(shellScript), '<shell script>'],
  [JSON.stringify(tierScript), '<shell script for a tier>'],
]
