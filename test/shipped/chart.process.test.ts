import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import manifest from '../../package.json' with { type: 'json' }
import { readConfiguration } from '../../src/configuration/read.ts'
import { manifests } from '../../src/install/manifests.ts'
import { partNames, render, textOf, type Wanted } from '../../src/install/render.ts'
import { endpoint } from '../../src/kubernetes/names.ts'
import { writeYaml } from '../../src/kubernetes/yaml.ts'
import { chartValues } from '../../src/webhooks/chart-values.ts'
import { share } from '../runs.ts'
import { folder as folderOf, issue, writePair } from '../server/pairs.ts'
import { startServe } from '../server/process.ts'
import { chartFolder, helm, runHelm } from './helm.ts'

interface Metadata {
  name: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
}
interface Manifest {
  kind: string
  metadata: Metadata
  spec?: Record<string, unknown>
}
interface Pod {
  metadata: Metadata
  spec: { containers: object[]; nodeSelector?: object; [key: string]: unknown }
}

const folder = chartFolder()
after(() => rmSync(folder, { recursive: true }))
const images = { image: 'registry.example/server:1', waiterImage: `registry.example/waiter@sha256:${'12'.repeat(32)}` }
/** What `install` finds out by itself. */
const found = { kubernetesVersion: '1.36', delivery: 'image-volume' } as const
const needed = { ...images, kubernetesVersion: '1.36' }

async function template(values: object, namespace = 'sidecar-first'): Promise<string> {
  const file = join(folder, '..', `${process.pid}-values.yaml`)
  writeFileSync(file, writeYaml(values))
  try {
    return await helm(['template', 'release', folder, '--namespace', namespace, '-f', file])
  } finally {
    rmSync(file)
  }
}

/** Helm tells all that is wrong at once, each on a line of its own. */
async function rejectsAll(values: object, lines: readonly (RegExp | string)[]): Promise<void> {
  const told = await template(values).then(assert.fail, ({ message }: Error) => message.split('\n'))
  for (const line of lines)
    assert.ok(
      told.some((each) => (typeof line === 'string' ? each.endsWith(line) : line.test(each))),
      `${line}: ${told.join('\n')}`,
    )
}

/** By kind and name, without what only one of the two has for a reason. */
function byName(text: string): Map<string, Manifest> {
  const objects = parseAllDocuments(text).flatMap((document) => (document.toJS() as Manifest | null) ?? [])
  for (const { metadata } of objects) {
    delete metadata.annotations?.['helm.sh/resource-policy']
    if (metadata.annotations && Object.keys(metadata.annotations).length === 0) delete metadata.annotations
  }
  const kept = objects.filter(
    ({ kind, metadata }) => kind !== 'Namespace' && metadata.annotations?.['helm.sh/hook'] === undefined,
  )
  return new Map(kept.map((each) => [`${each.kind} ${each.metadata.name}`, each]))
}

async function assertSame(wanted: Wanted, values: object): Promise<void> {
  const rendered = render(manifests, manifest.version, { ...wanted, rolls: true })
  assert.ok(rendered.ok)
  const ours = byName(textOf(rendered.documents))
  const charts = byName(await template(values, wanted.namespace))
  assert.deepEqual([...charts.keys()].sort(), [...ours.keys()].sort())
  for (const [name, object] of ours) assert.deepEqual(charts.get(name), object, name)
}

describe('the chart makes what install makes', () => {
  const own = [
    'rules:',
    '  - name: mesh',
    '    match: {image: "*/proxyv2", namespaceSelector: {matchLabels: {mesh: "on"}}}',
    '    tier: 1',
  ]
  const namespaces = ['sidecar-first', '1']
  const ways = (['namespace-opt-in', 'cluster-wide'] as const).flatMap((mode) =>
    [false, true].flatMap((certManager) => namespaces.map((namespace) => ({ mode, certManager, namespace }))),
  )
  for (const { mode, certManager, namespace } of share(ways)) {
    test(`${mode}${certManager ? ', cert-manager' : ''}, in ${namespace}`, async () => {
      await assertSame({ mode, namespace, certManager, ...images, found }, { mode, certManager, ...images, ...found })
      const more = { replicas: 3, pullSecret: 'secret', gate: 'native', lock: 'off' } as const
      const older = { kubernetesVersion: '1.34', delivery: 'init-container' } as const
      const enabled = Object.fromEntries(partNames.map((part) => [part, { enabled: true }]))
      await assertSame(
        { mode, namespace, certManager, ...images, ...more, found: older, parts: partNames },
        { mode, certManager, ...images, ...more, ...older, ...enabled },
      )
    })
  }

  test("with a configuration of the user's own", async () => {
    const text = `  \n# Ours\napiVersion: sidecar-first.dev/v1\nkind: Configuration\nwaiter: {image: ${images.waiterImage}}\n${own.join('\n')}\n\n\n`
    const read = readConfiguration(text, manifest.version)
    assert.ok(read.ok, JSON.stringify(read))
    const where = { mode: 'cluster-wide', namespace: 'other', endpoint } as const
    const [values] = parseAllDocuments(chartValues(read.configuration, text, where)).map((document) => document.toJS())
    const written = `${text.trimEnd()}\n`
    await assertSame({ ...where, ...images, configuration: written }, { ...values, image: images.image })

    const refused = async (change: object, why: RegExp, namespace = 'other') =>
      assert.rejects(template({ ...values, image: images.image, ...change }, namespace), why)
    const command = String.raw`sidecar-first config --helm --mode \S+ --namespace \S+ FILE`
    await refused(
      { configuration: `${written}# more\n` },
      new RegExp(`webhooks were made for another configuration: make both with ${command}`),
    )
    await refused(
      { webhooks: undefined },
      new RegExp(`webhooks is missing beside configuration: make both with ${command}`),
    )
    await refused({ configuration: undefined }, /webhooks has no configuration beside it/)
    await refused(
      { mode: 'namespace-opt-in' },
      /webhooks were made for mode cluster-wide and namespace other: make them with/,
    )
    await refused({}, /webhooks were made for mode cluster-wide and namespace other/, 'third')
    await refused({ gate: 'native' }, /gate has no effect beside configuration: write it there/)
    await refused({ webhooks: { ...values.webhooks, hash: undefined } }, /webhooks.*missing property 'hash'/s)
    await refused({ webhooks: { ...values.webhooks, mutating: undefined } }, /webhooks.*missing property 'mutating'/s)
  })
})

test('a value that is wrong or missing: a sentence, and nothing is rendered', async () => {
  await assert.rejects(
    template({ ...needed, waiterImage: '' }),
    /waiterImage is required: the waiter's, where your pods can pull it/,
  )
  await assert.rejects(
    template({ ...needed, image: '' }),
    /image is required: the server's, where your nodes can pull it/,
  )
  const version =
    /kubernetesVersion is required: the oldest node's, such as "1\.36", with the quotes \(kubectl get nodes\)/
  for (const none of ['', null]) {
    await assert.rejects(template({ ...images, kubernetesVersion: none }), version)
  }
  await assert.rejects(template(images), version)
  // YAML would make a number of it, and 1.4 of 1.40.
  await assert.rejects(template({ ...images, kubernetesVersion: 1.36 }), /kubernetesVersion.*got number, want string/s)
  // Without quotes Helm reads `on` as true, and `off` would have no effect.
  for (const lock of [true, false])
    await assert.rejects(template({ ...needed, lock }), /lock is a boolean: write "on" or "off" with the quotes/)
  await rejectsAll({ ...images, replicas: 'two', mode: 'all', pullSecret: 'A', rollout: { enabled: true } }, [
    /replicas.*got string, want integer/,
    /mode.*value must be one of/,
    /pullSecret.*does not match pattern/,
    /additional properties 'rollout' not allowed/,
  ])
  await assert.rejects(template({ ...images, pullSecret: 'a'.repeat(254) }), /pullSecret.*maxLength/s)
  await assert.rejects(helm(['template', 'x'.repeat(54), folder]), /invalid release name.*53/s)
  await assert.rejects(
    helm(['template', 'x', folder, '--kube-version', '1.29.0']),
    /requires kubeVersion: >=1\.30\.0-0/,
  )
})

describe('what a cluster wants of every pod and object', () => {
  const enabled = Object.fromEntries(partNames.map((part) => [part, { enabled: true }]))
  const all = { ...needed, ...enabled, pullSecret: 'secret' }
  const given = {
    nodeSelector: { 'kubernetes.io/os': 'linux', pool: 'system' },
    tolerations: [
      { key: 'CriticalAddonsOnly', operator: 'Exists' },
      { key: '1', value: 'true', effect: 'NoExecute', tolerationSeconds: 1 },
    ],
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: { topologyKey: 'rack' } }],
      },
    },
    topologySpreadConstraints: [
      {
        topologyKey: 'rack',
        maxSkew: 1,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { a: 'b' } },
      },
    ],
    priorityClassName: 'platform',
    imagePullSecrets: [{ name: 'mirror' }],
    podLabels: { team: 'platform', on: 'true' },
    podAnnotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'true' },
    commonLabels: { 'app.kubernetes.io/part-of': '1.10' },
    commonAnnotations: { owner: '{{ "{{" }}: "platform" # all\n' },
    resources: { serve: { requests: { cpu: 1 }, limits: { memory: '1Gi' } }, starts: { requests: { memory: '64Mi' } } },
  }
  const component = ({ metadata }: Manifest) => metadata.labels?.['app.kubernetes.io/component'] ?? ''

  /** What a pod without them becomes by these values. */
  function withAll({ metadata, spec }: Pod, of: Manifest): Pod {
    const own = given.resources[component(of) as 'serve' | 'starts']
    const [container] = spec.containers
    return {
      metadata: {
        ...metadata,
        labels: { ...metadata.labels, ...given.podLabels },
        annotations: { ...metadata.annotations, ...given.podAnnotations },
      },
      spec: {
        ...spec,
        nodeSelector: { ...spec.nodeSelector, ...given.nodeSelector },
        tolerations: given.tolerations,
        affinity: given.affinity,
        ...(component(of) === 'serve' && { topologySpreadConstraints: given.topologySpreadConstraints }),
        priorityClassName: given.priorityClassName,
        imagePullSecrets: [{ name: 'secret' }, ...given.imagePullSecrets],
        containers: [{ ...container, ...(own && { resources: own }) }],
      },
    }
  }

  for (const certManager of [false, true]) {
    test(`reaches each, and nothing else changes${certManager ? ', with cert-manager' : ''}`, async () => {
      const objects = async (values: object) =>
        parseAllDocuments(await template({ ...all, certManager, ...values })).map((each) => each.toJS() as Manifest)
      const wanted = (await objects({})).map((object): Manifest => {
        const { metadata, spec } = object
        const common = {
          ...metadata,
          labels: { ...metadata.labels, ...given.commonLabels },
          annotations: { ...metadata.annotations, ...given.commonAnnotations },
        }
        if (object.kind === 'Pod')
          return { ...object, ...withAll({ metadata: common, spec: spec as Pod['spec'] }, object) }
        if (object.kind !== 'Deployment') return { ...object, metadata: common }
        return { ...object, metadata: common, spec: { ...spec, template: withAll(spec?.template as Pod, object) } }
      })
      assert.deepEqual(wanted.filter(({ kind }) => kind === 'Pod' || kind === 'Deployment').map(component), [
        ...(certManager ? [] : ['certs']),
        'preview',
        'rollouts',
        'starts',
        'serve',
        'test',
      ])
      assert.deepEqual(await objects(given), wanted)
      const nothing = Object.fromEntries(Object.keys(given).map((key) => [key, null]))
      assert.deepEqual(await objects(nothing), await objects({}), 'null takes nothing away')
    })
  }

  test('a key that the chart sets itself is refused, since the second one would win', async () => {
    const rendered = [await template(all), await template({ ...all, certManager: true })]
    const used = { Labels: new Set<string>(), Annotations: new Set<string>() }
    for (const document of rendered.flatMap((text) => parseAllDocuments(text))) {
      const { metadata, spec } = document.toJS() as Manifest
      for (const each of [metadata, (spec?.template as Pod | undefined)?.metadata]) {
        for (const key of Object.keys(each?.labels ?? {})) used.Labels.add(key)
        for (const key of Object.keys(each?.annotations ?? {})) used.Annotations.add(key)
      }
    }
    assert.ok(used.Labels.size > 2 && used.Annotations.size > 3)
    const others = Object.entries(used).flatMap(([kind, keys]) =>
      [`common${kind}`, `pod${kind}`].map((value) => [
        value,
        Object.fromEntries([...keys].map((key) => [key, 'other'])),
      ]),
    )
    const refused = others.flatMap(([value, keys]) =>
      Object.keys(keys as object).map((key) => `at '/${value}/${key.replaceAll('/', '~1')}': false schema`),
    )
    await rejectsAll({ ...all, ...Object.fromEntries(others) }, refused)
  })

  test('what the API server would refuse is refused with the value', async () => {
    const wrong = {
      tolerations: [{ key: 'a', operators: 'Exists' }],
      nodeSelector: { pool: true, 'kubernetes.io/os': 'windows' },
      podLabels: { team: 'two words' },
      podAnnotations: { on: true },
      affinity: { nodes: {} },
      resources: { requests: { cpu: 1 }, serve: { limit: {} } },
      topologySpreadConstraints: [{ topologyKey: 'a', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' }],
      priorityClassName: 'A',
      imagePullSecrets: ['mirror'],
    }
    await rejectsAll({ ...all, ...wrong }, [
      /tolerations\/0.*operators/,
      /nodeSelector\/pool.*want string/,
      /nodeSelector.*linux/,
      /podLabels\/team.*pattern/,
      /podAnnotations\/on.*want string/,
      /affinity.*nodes/,
      /resources'.*requests/,
      /resources\/serve.*limit/,
      /topologySpreadConstraints\/0.*labelSelector/,
      /priorityClassName.*pattern/,
      /imagePullSecrets\/0.*want object/,
    ])
    await assert.rejects(template({ ...all, tolerations: { key: 'a' } }), /tolerations.*want array/)
  })
})

test('helm lint --strict finds nothing, with and without values', async () => {
  const file = join(folder, '..', `${process.pid}-lint.yaml`)
  writeFileSync(file, writeYaml(needed))
  try {
    for (const values of [[], ['-f', file]]) {
      const { stdout, stderr } = await runHelm(['lint', '--strict', folder, ...values])
      assert.doesNotMatch(stdout + stderr, /WARN|ERROR/)
    }
  } finally {
    rmSync(file)
  }
})

test('a value of null takes a default away: a part is left out, and what an installation needs is asked for', async () => {
  const without = [...partNames, 'webhooks', 'certManager', 'pullSecret', 'gate', 'configuration']
  const nothing = Object.fromEntries(without.map((name) => [name, null]))
  await assertSame(
    { mode: 'cluster-wide', namespace: 'other', ...images, found },
    { mode: 'cluster-wide', ...images, ...found, ...nothing },
  )
  const text = await template({ ...needed, delivery: null })
  assert.match(text, /^ +kubernetesVersion: "1\.36"$/m)
  assert.doesNotMatch(text, /^ +delivery:/m)
  await assert.rejects(template({ ...needed, mode: null }), /missing property 'mode'/)
  await assert.rejects(template({ ...needed, replicas: null }), /missing property 'replicas'/)
})

// test/cluster-install/chart.test.ts runs its pod; here it is a real server, a real handshake, and one that isn't trusted.
test("the test's script says so when the server patches, and fails when it isn't trusted", async () => {
  await using dir = await folderOf()
  const { authority, leaf } = await issue()
  await using server = await startServe(await writePair(dir.path, leaf))
  const ca = join(dir.path, 'ca.crt')
  writeFileSync(ca, authority.certificate)
  const pod = parseAllDocuments(await template(needed)).find(
    (each) => each.getIn(['metadata', 'name']) === 'sidecar-first-test',
  )
  assert.ok(pod)
  const { command, args } = pod.toJS().spec.containers[0]
  assert.equal(command[0], '/usr/bin/node')
  const script = (env: Record<string, string>) =>
    promisify(execFile)(process.execPath, [...command.slice(1), ...args], {
      env: { URL: `${server.url}/mutate`, ...env },
    })
  assert.equal((await script({ NODE_EXTRA_CA_CERTS: ca })).stdout, 'the webhook patches a pod\n')
  await assert.rejects(script({}), { code: 1, stderr: /self-signed certificate|unable to verify/ })
})
