import { API_GROUP, API_VERSION, KIND, type OnFailure } from '../../rollouts/types.ts'
import { quote } from '../admission/quote.ts'
import type { LabelSelector } from '../admission/selector.ts'
import { UsageError } from '../cli/command.ts'
import { oneOf, wholeNumber } from '../cli/flag.ts'
import { longDuration } from '../cli/long-duration.ts'
import { parseSelector } from './selector.ts'

/** The flags of `rollout start` that say what it shall be. */
export interface StartFlags {
  readonly name?: string | undefined
  readonly selector?: string | undefined
  readonly container?: string | undefined
  readonly image?: string | undefined
  readonly partition?: string | undefined
  readonly 'max-unavailable'?: string | undefined
  readonly 'min-ready-seconds'?: string | undefined
  readonly deadline?: string | undefined
  readonly 'on-failure'?: string | undefined
}

/** What `rollout start` applies. What isn't said is left to the schema's defaults. */
export interface StartRequest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec: {
    readonly selector: LabelSelector
    readonly container: string
    readonly image: string
    readonly strategy: {
      readonly partition: number | string
      readonly paused: false
      readonly maxUnavailable?: number | string
      readonly minReadySeconds?: number
      readonly progressDeadlineSeconds?: number
      readonly onFailure?: OnFailure
    }
  }
}

/** Judged as the schema does (manifests/rollouts/crd.yaml), so that an error names its flag. @throws UsageError */
export function startRequest(flags: StartFlags, namespace: string): StartRequest {
  const given = needed('--selector', flags.selector, 'the labels of the pods, such as app=shop')
  const container = needed('--container', flags.container, "the sidecar's name")
  const image = needed('--image', flags.image, 'what the sidecar shall run')
  const selector = parseSelector(given)
  if (!selector.ok) throw new UsageError(`--selector: ${selector.problem}`)
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(container)) {
    throw new UsageError(`--container takes a container's name: a-z, 0-9 and -, not ${quote(container)}`)
  }
  if (image.length > 1024 || !/^[a-zA-Z0-9][a-zA-Z0-9._/:-]*(@sha256:[a-f0-9]{64})?$/.test(image)) {
    throw new UsageError(`--image takes an image such as example/envoy:2.1, not ${quote(image)}`)
  }
  const name = flags.name ?? nameOf(selector.value, container)
  if (name.length > 253 || !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name)) {
    throw new UsageError(`--name takes a-z, 0-9, - and ., not ${quote(name)}`)
  }
  const strategy = strategyOf(flags)
  const metadata = { name, namespace }
  const spec = { selector: selector.value, container, image, strategy }
  return { apiVersion: `${API_GROUP}/${API_VERSION}`, kind: KIND, metadata, spec }
}

function strategyOf(flags: StartFlags): StartRequest['spec']['strategy'] {
  const maxUnavailable = flags['max-unavailable']
  const minReady = flags['min-ready-seconds']
  const { deadline } = flags
  const onFailure = flags['on-failure']
  const seconds = deadline === undefined ? undefined : parseSeconds('--deadline', deadline)
  const strategy = {
    partition: parsePartition(flags.partition ?? '0'),
    paused: false as const,
    ...(maxUnavailable === undefined ? {} : { maxUnavailable: share('--max-unavailable', maxUnavailable, 1) }),
    ...(minReady === undefined ? {} : { minReadySeconds: wholeNumber('--min-ready-seconds', minReady, 0, 86_400) }),
    ...(seconds === undefined ? {} : { progressDeadlineSeconds: seconds }),
    ...(onFailure === undefined
      ? {}
      : { onFailure: oneOf<OnFailure>('--on-failure', onFailure, ['pause', 'rollback']) }),
  } satisfies StartRequest['spec']['strategy']
  if ((strategy.progressDeadlineSeconds ?? 300) <= (strategy.minReadySeconds ?? 10)) {
    throw new UsageError('--deadline (300s) must be more than --min-ready-seconds (10): a pod is done only after both')
  }
  return strategy
}

/** @throws UsageError */
export const parsePartition = (text: string): number | string => share('--partition', text, 0)

function share(flag: string, text: string, least: 0 | 1): number | string {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : undefined
  const percent = /^(100|[1-9]?\d)%$/.test(text) ? Number.parseInt(text, 10) : undefined
  if ((count ?? percent ?? -1) < least) {
    throw new UsageError(`${flag} takes a number or a percentage, ${least} to 100%, not ${quote(text)}`)
  }
  return count ?? text
}

/** Seconds of `300s`, `5m`, `1h`, `1d`; up to seven days. @throws UsageError that names the flag */
export const parseSeconds = (flag: string, text: string): number =>
  longDuration(flag, text, { most: '7d', such: '300s, 5m or 1h' }) / 1000

function needed(flag: string, text: string | undefined, what: string): string {
  if (text) return text
  throw new UsageError(`start needs ${flag}: ${what}`)
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
