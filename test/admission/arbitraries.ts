import fc from 'fast-check'
import type { Json } from '../../src/admission/words/json.ts'
import { type Container, type Fields, keyed, type Pod } from './pods.ts'

/** Pods as anybody may write them: valid ones of every shape, with annotations that are valid, nearly valid and garbage. */
const names = ['app', 'envoy', 'vault', 'otel', 'istio-proxy', 'constructor', 'a1']
const name = fc.constantFrom(...names)

const nasty = fc.constantFrom(
  '$(HOST)',
  '$(SECRET)',
  '$$(HOST)',
  '$(',
  'a b',
  "'",
  '"; rm -rf /',
  'a\nb',
  '$(id)`id`',
  '🙂',
  '',
)
/** Any code point but half of a pair: `unit: 'binary'`, which builds a table of them all first. */
export const codePoint = fc
  .nat({ max: 0x10_ffff - 0x800 })
  .map((nth) => String.fromCodePoint(nth < 0xd800 ? nth : nth + 0x800))
const text = fc.oneof(fc.string({ unit: codePoint }), fc.string())
const word = fc.oneof(text, nasty)
/** Too long for one argument, or only once its backslashes are doubled, or only together with others. */
const longWord = fc.constantFrom(140_000, 100_000, 40_000, 25_000).map((length) => '\\'.repeat(length))
const command = fc
  .tuple(
    fc.constantFrom('cat', '/bin/sh', '$(HOST)'),
    fc.array(fc.oneof({ weight: 60, arbitrary: word }, { weight: 1, arbitrary: longWord }), { maxLength: 3 }),
  )
  .map(([a, b]) => [a, ...b])
const portNumber = fc.integer({ min: 1, max: 65535 })
const port = fc.oneof(portNumber, fc.constantFrom('http', 'admin', 'missing', '8080'))
const host = fc.oneof(
  fc.constantFrom('127.0.0.1', 'localhost', '10.0.0.1', '::1', 'not_a_name'),
  fc.constantFrom('bücher.example', 'fe80::1%eth0', '*', 'a b', '[::1]'),
)

/** A record with each key sometimes absent. */
function some(model: { [key: string]: fc.Arbitrary<Json> }): fc.Arbitrary<Fields> {
  return fc.record(model, { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<Fields>
}

const httpGet = fc
  .tuple(
    port,
    some({
      path: fc.oneof(
        fc.constantFrom('/ready', 'ready', '/a?b=c', '/a b#c', '?x', '//foo/bar', 'http://o/x', 'a:b'),
        text,
      ),
      scheme: fc.constantFrom('HTTP', 'HTTPS'),
      host,
      httpHeaders: fc.array(
        fc.tuple(fc.constantFrom('Host', 'X-A'), word).map(([name, value]): Fields => ({ name, value })),
        { maxLength: 2 },
      ),
    }),
  )
  .map(([number, rest]): Fields => ({ ...rest, port: number }))
const tcpSocket = fc.tuple(port, some({ host })).map(([number, rest]): Fields => ({ ...rest, port: number }))
const seconds = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 0, max: 700 }) },
  { weight: 1, arbitrary: fc.constantFrom(36_000_000, 2 ** 31 - 1) },
)

const handler: fc.Arbitrary<Fields> = fc.oneof(
  httpGet.map((value) => ({ httpGet: value })),
  tcpSocket.map((value) => ({ tcpSocket: value })),
  fc.tuple(portNumber, some({ service: word })).map(([number, rest]) => ({ grpc: { ...rest, port: number } })),
  command.map((value) => ({ exec: { command: value } })),
)
const probe = fc
  .tuple(
    handler,
    some({
      initialDelaySeconds: seconds,
      periodSeconds: seconds,
      timeoutSeconds: seconds,
      successThreshold: fc.integer({ min: 1, max: 3 }),
      failureThreshold: seconds,
    }),
  )
  .map(([what, when]): Fields => ({ ...what, ...when }))

const postStart: fc.Arbitrary<Fields> = fc.oneof(
  { weight: 4, arbitrary: command.map((value) => ({ exec: { command: value } })) },
  { weight: 2, arbitrary: httpGet.map((value) => ({ httpGet: value })) },
  { weight: 2, arbitrary: seconds.map((value) => ({ sleep: { seconds: value } })) },
  { weight: 1, arbitrary: tcpSocket.map((value) => ({ tcpSocket: value })) },
)
/** Hooks that look like ours, with anything inside. */
export const forgedHook: fc.Arbitrary<Fields> = fc
  .oneof(
    fc
      .array(fc.oneof(word, fc.integer({ min: -20, max: 20 }).map(String), fc.constantFrom('exec', 'sleep', 'none')), {
        maxLength: 30,
      })
      .map((args) => ['sh', '-c', 'exit', 'sidecar-first', ...args]),
    fc
      .oneof(
        word,
        fc.json(),
        fc.tuple(fc.constantFrom('before', 'checks'), fc.json()).map(([key, value]) => `{"${key}":${value}}`),
      )
      .map((spec) => ['/.sidecar-first/wait', '--spec', spec]),
    fc
      .tuple(
        fc.constantFrom('witness', 'others'),
        fc.oneof(
          fc.json(),
          fc.json().map((before) => `{"before":${before}}`),
        ),
      )
      .map(([kind, spec]) => ['/.sidecar-first/wait', kind, '--spec', spec]),
    fc.array(word, { maxLength: 2 }).map((args) => ['/.sidecar-first/wait', ...args]),
  )
  .map((words) => ({ exec: { command: words } }))

const lifecycle = fc.oneof(
  postStart.map((hook): Json => ({ postStart: hook })),
  fc.tuple(postStart, postStart).map(([hook, preStop]): Json => ({ postStart: hook, preStop })),
  postStart.map((hook): Json => ({ preStop: hook })),
  fc.constantFrom<Json>({}, null, { preStop: null, stopSignal: 'SIGINT' }),
)

const env: fc.Arbitrary<Json> = fc.oneof(
  word.map((value) => ({ name: 'HOST', value })),
  fc.constant({ name: 'SECRET', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }),
)
const mount = fc.constant<Json>({ name: 'data', mountPath: '/data' })

const anyContainer = some({
  startupProbe: probe,
  readinessProbe: probe,
  lifecycle,
  env: fc.array(env, { maxLength: 2 }),
  ports: fc.uniqueArray(
    fc
      .tuple(fc.constantFrom('http', 'admin', 'grpc'), portNumber)
      .map(([its, containerPort]): Fields => ({ name: its, containerPort })),
    { maxLength: 2, selector: (item) => item.name },
  ),
  volumeMounts: fc.oneof(fc.array(mount, { maxLength: 1 }), fc.constant(null)),
  terminationMessagePath: fc.constantFrom('/dev/termination-log', '/tmp/why'),
  resources: some({
    limits: fc.constant<Json>({ cpu: '1', memory: '64Mi' }),
    requests: fc.constant<Json>({ cpu: 1 }),
  }),
  // What this version doesn't know passes through, integers beyond 2^53 among it.
  futureField: fc.oneof(
    fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>,
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n }),
  ),
})

export function container(its: fc.Arbitrary<string>): fc.Arbitrary<Container> {
  return fc.tuple(its, anyContainer).map(([own, rest]): Container => ({ name: own, image: `example/${own}`, ...rest }))
}

const goodCheck = fc.constantFrom(
  'probe',
  'probe:readiness',
  'probe:startup',
  'none',
  'http://:8080/ready',
  'https://[::1]:1/',
  'tcp://:http',
  'grpc://:1/x',
  'unix:///s',
  'file:///f',
  'exec:["true"]',
  'exec:["sh","-c","$(x)\\n"]',
  'hook:["/wait","x"]',
)
const goodDuration = fc.constantFrom('100ms', '90s', '10m', '1m30s')
const tier = fc.array(name, { minLength: 1, maxLength: 3 }).map((items) => items.join(' + '))
const goodSidecars = fc
  .uniqueArray(name, { minLength: 1, maxLength: 4 })
  .chain((items) =>
    fc
      .array(fc.constantFrom(',', '+', ', '), { minLength: 4, maxLength: 4 })
      .map((signs) => items.map((item, i) => (i === 0 ? item : `${signs[i]}${item}`)).join('')),
  )

function annotationsOf(odd: boolean): fc.Arbitrary<Fields> {
  const or = (value: fc.Arbitrary<string>): fc.Arbitrary<Json> =>
    odd ? fc.oneof({ weight: 6, arbitrary: value }, { weight: 1, arbitrary: fc.oneof(text, fc.constant(null)) }) : value
  const common = {
    timeout: or(goodDuration),
    'on-timeout': or(fc.constantFrom('fail', 'continue')),
    'existing-hook': or(fc.constantFrom('chain', 'chain', 'keep', 'refuse')),
    waiter: or(fc.constantFrom('init-container', 'image-volume', 'shell')),
    gate: or(fc.constantFrom('hook', 'hook', 'native', 'auto')),
    'startup-probe': or(fc.constantFrom('keep', 'eager', 'hook')),
    'native-position': or(fc.constantFrom('first', 'last')),
    lock: or(fc.constantFrom('on', 'on', 'off', 'auto')),
    end: or(fc.constantFrom('last', 'together', 'together')),
    'end-appear': or(goodDuration),
    'example.com/other~key': text as fc.Arbitrary<Json>,
  }
  const perContainer = Object.fromEntries(
    names.flatMap((own) => [
      [`check/${own}`, or(goodCheck)],
      [`timeout/${own}`, or(goodDuration)],
      [`on-timeout/${own}`, or(fc.constantFrom('fail', 'continue'))],
    ]),
  )
  const few = fc.tuple(
    some(common),
    fc
      .uniqueArray(fc.constantFrom(...Object.keys(perContainer)), { maxLength: 4 })
      .chain((keys) =>
        fc.record(Object.fromEntries(keys.flatMap((key) => (perContainer[key] ? [[key, perContainer[key]]] : [])))),
      ),
    or(odd ? fc.oneof(goodSidecars, tier) : goodSidecars),
  )
  const unknown = fc.oneof(
    fc.constant({}),
    text.map((key): Fields => (odd ? { [`sidecar-first.dev/${key}`]: '' } : {})),
  )
  return fc
    .tuple(few, unknown)
    .map(([[settings, own, sidecars], more]) => ({ ...more, ...keyed({ ...settings, ...(own as Fields), sidecars }) }))
}

const podParts = some({
  volumes: fc.constantFrom<Json>([], null, [{ name: 'data', emptyDir: {} }], [{ name: 'data', secret: {} }]),
  restartPolicy: fc.constantFrom('Always', 'Never', 'OnFailure'),
  hostNetwork: fc.boolean(),
  terminationGracePeriodSeconds: fc.constantFrom<Json>(0, 1, 3, 4, 30, 86_400, -1, 1e300, null),
  ephemeralContainers: fc.constant<Json>([{ name: 'debug', image: 'busybox' }]),
})
/** The names of containers, how many of them are init containers, and what else each has: whatever `chain` makes, it makes for every pod again. */
const anyContainers = fc.shuffledSubarray(names, { minLength: 1 }).chain((all) => {
  const length = { minLength: all.length, maxLength: all.length }
  const parts = fc.array(fc.tuple(anyContainer, fc.constantFrom('Always', undefined)), length)
  return fc.tuple(fc.constant(all), fc.nat({ max: all.length - 1 }), parts)
})

function podWith(annotations: fc.Arbitrary<Fields>): fc.Arbitrary<Pod> {
  return fc.tuple(annotations, podParts, anyContainers).map(([annotations, rest, [all, inits, parts]]) => {
    const made = all.map((its, at): Container => {
      const [own, restartPolicy] = parts[at] ?? []
      return { name: its, image: `example/${its}`, ...own, ...(at < inits && restartPolicy && { restartPolicy }) }
    })
    return copy({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web', annotations },
      spec: {
        ...rest,
        ...(inits > 0 ? { initContainers: made.slice(0, inits) } : {}),
        containers: made.slice(inits),
      },
    }) as Pod
  })
}

/** Without objects in two places at once, which no parsed manifest has and a patch would change together. */
function copy(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copy)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copy(item)]))
}

/** A pod that asks for sidecars in annotations without a mistake; it may still be refused. */
export const pod = podWith(annotationsOf(false))
/** A pod whose annotations may hold anything. */
export const oddPod = podWith(annotationsOf(true))

/** Any JSON value, also where a pod's own fields are expected. */
export const anyJson = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom<Json>(null, true, 0, -1, 1e300, 9007199254740993n, '', 'Always', '$(X)', { toString: 0 }),
    text,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      fc.oneof(
        fc.constantFrom(
          ...[
            'metadata',
            'spec',
            'annotations',
            'labels',
            'containers',
            'initContainers',
            'name',
            'lifecycle',
            'postStart',
            'preStop',
          ],
          ...[
            'exec',
            'command',
            'httpGet',
            'port',
            'ports',
            'env',
            'volumes',
            'volumeMounts',
            'readinessProbe',
            'resources',
          ],
          ...['limits', 'object', 'request', 'kind', 'uid', '__proto__', 'constructor', 'sidecar-first.dev/sidecars'],
        ),
        fc.string(),
      ),
      tie('value'),
      { maxKeys: 5, noNullPrototype: true },
    ),
  ),
})).value
