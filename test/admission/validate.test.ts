import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decide } from '../../src/admission/decide.ts'
import type { Configuration } from '../../src/admission/intent/configuration.ts'
import { validate } from '../../src/admission/validate.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { after, app, configuration, type Fields, hookOf, keyed, type Pod, pod, ready, reasonsOf } from './pods.ts'

const envoy = { name: 'envoy', readinessProbe: ready }
const asking = (annotations: Fields = {}) => pod({ sidecars: 'envoy', ...annotations }, [app, envoy])
const right = (annotations: Fields = {}): Pod => after(asking(annotations))
const reasons = (object: unknown, given: Configuration = configuration): readonly string[] => {
  return reasonsOf(validate(object, given))
}
const edited = (object: Pod, edit: (spec: { containers: Fields[]; [key: string]: unknown }) => void): Pod => {
  const copy = structuredClone(object)
  edit(copy.spec as unknown as { containers: Fields[]; [key: string]: unknown })
  return copy
}

for (const annotations of [{}, { gate: 'native' }, { waiter: 'shell' }, { waiter: 'image-volume' }]) {
  test(`what we leave passes: ${JSON.stringify(annotations)}`, () => {
    assert.deepEqual(reasons(right(annotations)), [])
    assert.notDeepEqual(reasons(asking(annotations)), [], 'and as it was it does not')
  })
}

test('a pod that asks for nothing, opts out, or carries only a status passes', () => {
  assert.deepEqual(reasons(pod({}, [app])), [])
  assert.deepEqual(reasons(asking({ inject: 'false' })), [])
  assert.deepEqual(reasons(pod({ status: '{}' }, [app])), [])
})

test('says which container stands before the sidecar', () => {
  const late = edited(right(), (spec) => spec.containers.unshift({ name: 'other' }))
  assert.match(reasons(late)[0] ?? '', /^envoy has to be at spec\.containers\[0\], before other/)
  assert.match(reasons(late).at(-1) ?? '', /sidecar-first check/, 'and what to do')
})

test('says that the hook is missing', () => {
  const unhooked = edited(right(), (spec) => delete (spec.containers[0] as { lifecycle?: unknown }).lifecycle)
  assert.match(reasons(unhooked)[0] ?? '', /^envoy lacks the PostStart hook/)
})

test('says what of the waiter is missing', () => {
  const found = (edit: Parameters<typeof edited>[1]) => reasons(edited(right(), edit))[0] ?? ''
  assert.match(
    found((spec) => delete spec.initContainers),
    /init container that delivers the waiter/,
  )
  assert.match(
    found((spec) => delete (spec.containers[0] as { volumeMounts?: unknown }).volumeMounts),
    /envoy lacks the mount/,
  )
  assert.match(
    found((spec) => delete spec.volumes),
    /the volume of the waiter/,
  )
})

test('a container that an annotation names has to be there', () => {
  assert.match(reasons(pod({ sidecars: 'nobody' }, [app]))[0] ?? '', /names "nobody", but no container is called that/)
  const other = after(asking({ 'check/nobody': 'none' }))
  assert.match(reasons(other)[0] ?? '', /^check\.sidecar-first\.dev\/nobody names/)
})

test('what makes no sense is refused with all its problems', () => {
  assert.equal(reasons(asking({ gate: 'x', timeout: 'y' })).length, 2)
})

test('observe and invalid: warn never refuse', () => {
  for (const lenient of [{ mode: 'observe' }, { invalid: 'warn' }] as const) {
    assert.deepEqual(reasons(asking(), { ...configuration, ...lenient }), [])
    assert.deepEqual(reasons(asking({ gate: 'x' }), { ...configuration, ...lenient }), [])
  }
})

test('an unlisted annotation of ours that changed is no reason to refuse', () => {
  const object = right()
  const status = {
    ...object,
    metadata: { ...object.metadata, annotations: { ...(object.metadata.annotations as Fields) } },
  }
  delete (status.metadata.annotations as Record<string, unknown>)['sidecar-first.dev/status']
  assert.equal(decide(status, configuration).verdict, 'patched')
  assert.deepEqual(reasons(status), [])
})

test('a pod that another version has not locked passes without a lock, one of this version does not', () => {
  const by = (version: string): Pod => {
    const made = right()
    const annotations = keyed({ sidecars: 'envoy', lock: 'on', status: `{"version":"${version}"}` })
    return { ...made, metadata: { ...made.metadata, annotations } }
  }
  assert.deepEqual(reasons(by('0.0.1')), [])
  assert.match(reasons(by(configuration.version)).join(), /lock/)
})

test('what another version or configuration wrote passes if it waits for the same, and no enforced rule is about it', () => {
  const made = right()
  const command = hookOf(made, 'envoy') as [string, string, string]
  const written = (version: string, [from, to]: [string, string]): Pod =>
    edited(
      {
        ...made,
        metadata: {
          ...made.metadata,
          annotations: { ...keyed({ sidecars: 'envoy', status: `{"version":"${version}"}` }) },
        },
      },
      ({ containers: [envoy] }) => {
        Object.assign(envoy ?? {}, {
          lifecycle: { postStart: { exec: { command: command.with(2, command[2].replace(from, to)) } } },
        })
      },
    )
  const longer: [string, string] = ['"1m"', '"2m"']
  const lacks = /^envoy lacks the PostStart hook/
  for (const version of ['0.0.1', configuration.version]) assert.deepEqual(reasons(written(version, longer)), [])
  assert.match(reasons(written('0.0.1', ['"container":"envoy"', '"container":"app"']))[0] ?? '', lacks)
  const read = readConfiguration(
    `${head}rules: [{name: a, match: {container: envoy}, tier: 1, enforce: true}]\n`,
    '0.0.0-test',
  )
  assert.ok(read.ok)
  assert.match(reasons(written('0.0.1', longer), read.configuration)[0] ?? '', lacks)
})

const head = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'

test('what replicas with another default of the gate have patched passes, unless the pod or an enforced rule says otherwise', () => {
  const by = (text: string) => {
    const read = readConfiguration(`${head}${text}`, '0.0.0-test')
    assert.ok(read.ok)
    return read.configuration
  }
  const gates = ['hook', 'native'].map((gate) =>
    by(`defaults: {gate: ${gate}, timeout: ${gate === 'hook' ? 5 : 50}s}\n`),
  )
  for (const [one, other] of [gates, gates.toReversed()]) {
    const given = pod({ sidecars: 'envoy' }, [app, envoy])
    const made = after(given, decide(given, one as Configuration))
    assert.deepEqual(reasons(made, other), [])
  }
  const [hook, native] = gates as [Configuration, Configuration]
  const made = after(asking(), decide(asking(), hook))
  const says = {
    ...made.metadata,
    annotations: { ...(made.metadata.annotations as Fields), ...keyed({ gate: 'native' }) },
  }
  assert.notDeepEqual(reasons({ ...made, metadata: says }, native), [])
  const enforced = ['hook', 'native'].map((gate) =>
    by(`defaults: {gate: ${gate}}\nrules: [{name: a, match: {container: envoy}, tier: 1, enforce: true}]\n`),
  ) as [Configuration, Configuration]
  const ruled = after(pod({}, [app, envoy]), decide(pod({}, [app, envoy]), enforced[0]))
  assert.notDeepEqual(reasons(ruled, enforced[1]), [])
})

test('a lock that only one of two versions writes passes, as long as a hook opens it', () => {
  const given = pod({ sidecars: 'envoy', lock: 'on' }, [app, envoy])
  const made = after(given)
  const of = (version: string, object: Pod, lock: string): Pod => {
    const annotations = keyed({ sidecars: 'envoy', lock, status: `{"version":"${version}"}` })
    return { ...object, metadata: { ...object.metadata, annotations } }
  }
  const open = after(pod({ sidecars: 'envoy' }, [app, envoy]))
  // Locked by the other, open by the other; the same of this version is what somebody changed.
  for (const [object, lock] of [
    [made, 'off'],
    [open, 'on'],
  ] as const) {
    assert.deepEqual(reasons(of('0.0.1', object, lock)), [])
    assert.notDeepEqual(reasons(of(configuration.version, object, lock)), [])
  }
  const stuck = edited(made, ({ containers: [first] }) => {
    Object.assign(first ?? {}, { lifecycle: open.spec.containers[0]?.lifecycle })
  })
  assert.match(reasons(of('0.0.1', stuck, 'off'))[0] ?? '', /^app hasn't exactly the variables/)
})
