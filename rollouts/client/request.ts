import type { LabelSelector } from '../../src/admission/pod/selector.ts'
import { quote } from '../../src/admission/words/quote.ts'
import { imageForm } from '../../src/configuration/image-form.ts'
import { UsageError } from '../../src/terminal/command.ts'
import { duration, oneOf, wholeNumber } from '../../src/terminal/flag.ts'
import { API_GROUP, API_VERSION, KIND, type OnFailure, type RolloutSpec, type RolloutStrategy } from '../types.ts'
import { parseSelector } from './selector.ts'

/** The flags of `rollout start` alone. */
export const startFlags = {
  selector: { type: 'string' },
  container: { type: 'string' },
  image: { type: 'string' },
  name: { type: 'string' },
  'max-unavailable': { type: 'string' },
  'min-ready-seconds': { type: 'string' },
  'bake-seconds': { type: 'string' },
  deadline: { type: 'string' },
  'on-failure': { type: 'string', choices: ['pause', 'rollback'] },
  'max-failures': { type: 'string' },
  judge: { type: 'string', choices: ['Pod', 'Sidecar'] },
} as const

/** Those that describe the rollout. */
export type StartFlags = Readonly<Partial<Record<keyof typeof startFlags | 'partition', string | undefined>>>

/** What `rollout start` applies. Everything undefined is left to the schema's defaults. */
export interface StartRequest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec: Pick<RolloutSpec, 'selector' | 'container' | 'image'> & {
    readonly strategy: { readonly [Field in keyof RolloutStrategy]: RolloutStrategy[Field] | undefined }
  }
}

/** Makes the same checks as the schema (manifests/rollouts/crd.yaml), so that an error names its flag. @throws UsageError */
export function startRequest(flags: StartFlags, namespace: string): StartRequest {
  const given = needed('--selector', flags.selector, 'the labels of the pods, such as app=shop')
  const container = needed('--container', flags.container, "the sidecar's name")
  const image = needed('--image', flags.image, 'the new image of the sidecar')
  const selector = parseSelector(given)
  if (!selector.ok) throw new UsageError('flag-value', `--selector: ${selector.problem}`)
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(container)) {
    throw new UsageError('flag-value', `--container takes a container's name: a-z, 0-9 and -, not ${quote(container)}`)
  }
  if (image.length > 1024 || !imageForm.test(image)) {
    throw new UsageError('flag-value', `--image takes an image such as example/envoy:2.1, not ${quote(image)}`)
  }
  const name = flags.name ?? nameOf(selector.value, container)
  if (name.length > 253 || !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name)) {
    throw new UsageError('flag-value', `--name takes a-z, 0-9, - and ., not ${quote(name)}`)
  }
  const strategy = strategyOf(flags)
  const metadata = { name, namespace }
  const spec = { selector: selector.value, container, image, strategy }
  return { apiVersion: `${API_GROUP}/${API_VERSION}`, kind: KIND, metadata, spec }
}

function strategyOf(flags: StartFlags): StartRequest['spec']['strategy'] {
  const given = <T>(text: string | undefined, read: (text: string) => T) =>
    text === undefined ? undefined : read(text)
  const strategy = {
    partition: parsePartition(flags.partition ?? '0'),
    paused: false,
    rest: 'base',
    judge: given(flags.judge, (text) => oneOf('--judge', text, ['Pod', 'Sidecar'] as const)),
    maxFailures: given(flags['max-failures'], (text) => share('--max-failures', text, 0)),
    maxUnavailable: given(flags['max-unavailable'], (text) => share('--max-unavailable', text, 1)),
    minReadySeconds: given(flags['min-ready-seconds'], (text) => wholeNumber(0, 86_400)('--min-ready-seconds', text)),
    bakeSeconds: given(flags['bake-seconds'], (text) => wholeNumber(0, 86_400)('--bake-seconds', text)),
    progressDeadlineSeconds: given(flags.deadline, (text) => parseSeconds('--deadline', text)),
    onFailure: given(flags['on-failure'], (text) => oneOf<OnFailure>('--on-failure', text, ['pause', 'rollback'])),
  } as const
  if ((strategy.progressDeadlineSeconds ?? 300) <= (strategy.minReadySeconds ?? 10)) {
    throw new UsageError(
      'flags-together',
      '--deadline (300s) must be more than --min-ready-seconds (10): a pod must be ready that long to be done',
    )
  }
  return strategy
}

/** @throws UsageError */
export const parsePartition = (text: string): number | string => share('--partition', text, 0)

function share(flag: string, text: string, least: 0 | 1): number | string {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : undefined
  const percent = /^(100|[1-9]?\d)%$/.test(text) ? Number.parseInt(text, 10) : undefined
  if ((count ?? percent ?? -1) < least) {
    throw new UsageError('flag-value', `${flag} takes a number or a percentage, ${least} to 100%, not ${quote(text)}`)
  }
  return count ?? text
}

/** Whole seconds, rounded up. @throws UsageError that names the flag */
export const parseSeconds = (flag: string, text: string): number => Math.ceil(duration(flag, text) / 1000)

function needed(flag: string, text: string | undefined, what: string): string {
  if (text) return text
  throw new UsageError('flags-together', `start needs ${flag}: ${what}`)
}

/** `shop-envoy` for the container envoy of app=shop. */
function nameOf({ matchLabels = {} }: LabelSelector, container: string): string {
  const words = [...Object.values(matchLabels), container].map((word) =>
    word.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'),
  )
  return words
    .filter((word) => /[a-z0-9]/.test(word))
    .join('-')
    .slice(0, 253)
    .replaceAll(/^-+|-+$/g, '')
}
