import type { CheckKind } from '../admission/check/grammar.ts'
import { presets } from '../admission/intent/presets.ts'
import {
  deliveries,
  ends,
  existingHooks,
  gates,
  locks,
  nativePositions,
  startupProbeChoices,
  timeoutActions,
} from '../admission/words/choices.ts'
import { keys, perContainer } from '../admission/words/keys.ts'
import { version } from '../version.ts'
import { offeredVersions } from './kubernetes.ts'
import { choices } from './settings.ts'

/** A key of an annotation, as the page completes and explains it. */
interface Word {
  readonly key: string
  /** What it says, in a few words. */
  readonly says: string
  /** The values that it takes, as YAML needs them written; absent where any text may stand. */
  readonly values?: readonly string[]
}

/** What YAML takes for a truth value. */
const quoted = (value: string) => (/^(?:on|off)$/.test(value) ? `"${value}"` : value)

type Said<K extends string> = { readonly [key in K]: Omit<Word, 'key'> }

/** Written by us, not by people. */
type Own = 'status' | 'sets'

const annotations: Said<Exclude<keyof typeof keys, Own>> = {
  sidecars: { says: 'the sidecars in the order in which they start: a, b + c, *' },
  timeout: { says: 'how long to wait for each sidecar, such as 90s' },
  onTimeout: { says: 'what to do when the time is up', values: timeoutActions },
  gate: { says: 'what holds the app back', values: gates },
  nativePosition: { says: 'where native sidecars go among the init containers', values: nativePositions },
  existingHook: { says: 'what becomes of a PostStart hook that is there', values: existingHooks },
  startupProbe: { says: "what becomes of a native sidecar's startupProbe", values: startupProbeChoices },
  waiter: { says: 'how the waiter gets into the pod', values: deliveries },
  lock: { says: 'whether the app is locked until its sidecars are ready', values: locks.map(quoted) },
  lockRestarts: { says: 'how long a later start waits for its sidecars: 5s, 0s to 30s, or always' },
  end: { says: 'how sidecars end: with the app, or when it has ended', values: ends },
  endAppear: { says: 'how long the end of a sidecar waits for a container that goes on, such as 5s' },
  inject: { says: 'false leaves the pod alone', values: ['"false"'] },
  ignore: { says: 'codes of warnings to silence: SF201, SF205' },
}

/** How a check of each kind begins. */
const examples: Readonly<Record<CheckKind, string>> = {
  probe: 'probe',
  none: 'none',
  http: 'http://:PORT/PATH',
  https: 'https://:PORT/PATH',
  tcp: 'tcp://:PORT',
  grpc: 'grpc://:PORT',
  unix: 'unix:///PATH',
  file: 'file:///PATH',
  exec: 'exec:["COMMAND"]',
  hook: 'hook:["COMMAND"]',
}

const forContainers: Said<keyof typeof perContainer> = {
  check: { says: 'what ready means for this container', values: Object.values(examples) },
  timeout: { says: 'how long to wait for this container, such as 90s' },
  onTimeout: { says: 'what to do when its time is up', values: timeoutActions },
}

/** What the page knows of annotations, presets and settings: the same tables that admissions use. */
export const vocabulary = {
  version,
  annotations: words(annotations, keys),
  forContainers: words(forContainers, perContainer),
  presets: presets.map(({ name, title }) => ({ name, title })),
  settings: { ...choices, kubernetesVersion: offeredVersions },
} as const

function words<K extends string>(said: Said<K>, named: { readonly [key in K]: string }): readonly Word[] {
  return Object.entries<Omit<Word, 'key'>>(said).map(([name, word]) => ({ key: named[name as K], ...word }))
}
