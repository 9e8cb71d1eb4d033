import type { Json } from '../../../src/admission/words/json.ts'

/**
 * Rules as the model of the kubelet reads them: the very object that is written as the configuration's text (JSON is YAML), matched by a small
 * matcher that is written apart from the product's.
 */
export interface Rule {
  readonly name: string
  readonly match: {
    readonly container?: string
    readonly image?: string
    readonly preset?: string
    readonly podSelector?: { readonly matchLabels: Readonly<Record<string, string>> }
  }
  readonly tier?: number
  readonly check?: string
  readonly timeout?: string
  readonly onTimeout?: 'fail' | 'continue'
  readonly gate?: 'hook' | 'native' | 'auto'
  readonly nativePosition?: 'first' | 'last'
  readonly existingHook?: 'chain' | 'keep' | 'refuse'
  readonly startupProbe?: 'keep' | 'eager' | 'hook'
  readonly lock?: 'on' | 'off' | 'auto'
  readonly lockRestarts?: string
  readonly end?: 'last' | 'together'
  readonly endAppear?: string
  readonly enforce?: boolean | 'audit'
  readonly exempt?: readonly string[]
  readonly allowNatives?: readonly string[]
}

export interface Rules {
  readonly kubernetesVersion?: string
  readonly invalid?: 'refuse' | 'warn'
  readonly waiter?: { readonly image?: string; readonly delivery?: string; readonly mirrors?: readonly string[] }
  readonly defaults?: Pick<
    Rule,
    | 'check'
    | 'timeout'
    | 'onTimeout'
    | 'gate'
    | 'nativePosition'
    | 'existingHook'
    | 'startupProbe'
    | 'lock'
    | 'lockRestarts'
    | 'end'
  >
  readonly lock?: { readonly lease?: 'on' | 'off' }
  readonly enforced?: { readonly inFront?: readonly { readonly container: string; readonly image: string }[] }
  readonly rules: readonly Rule[]
}

/** The configuration's text. */
export const textOf = (rules: Rules): string =>
  JSON.stringify({ apiVersion: 'sidecar-first.dev/v1', kind: 'Configuration', ...rules })

interface Image {
  readonly name: string
  readonly image: string
}

/** What docs/presets.md says of those that are tried. */
const presets: Readonly<
  Record<string, { names: readonly string[]; check?: string; own?: readonly string[]; tier: number }>
> = {
  istio: { names: ['istio-proxy'], check: 'http://:15021/healthz/ready', own: ['pilot-agent', 'wait'], tier: 10 },
  linkerd: { names: ['linkerd-proxy'], own: ['linkerd-await'], tier: 10 },
  kuma: { names: ['kuma-sidecar'], own: ['kuma-dp', 'wait'], tier: 10 },
  'consul-dataplane': { names: ['consul-dataplane'], tier: 10 },
  'vault-agent': { names: ['vault-agent'], tier: 20 },
  'cloud-sql-proxy': { names: ['cloud-sql-proxy'], own: ['cloud-sql-proxy', 'wait'], tier: 30 },
  envoy: { names: ['envoy'], tier: 30 },
  dapr: { names: ['daprd'], check: 'http://:3500/v1.0/healthz/outbound', tier: 40 },
}
export const presetNames = Object.keys(presets)
export const presetOf = (name: string | undefined) => (name === undefined ? undefined : presets[name])

export function isGlobOf(glob: string, text: string): boolean {
  const parts = glob.split('*').map((part) => part.replace(/[\\^$.|?+()[\]{}/]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^]*')}$`).test(text)
}

/** A glob without a tag matches every tag and digest; `*` and a slash also stand for no registry. */
export function isImageOf(glob: string, image: string): boolean {
  const bare = glob.endsWith(':*') ? glob.slice(0, -2) : glob
  const globs = bare.startsWith('*/') ? [bare, bare.slice(2)] : [bare]
  const undigested = image.replace(/@[^/@]*$/, '')
  const untagged = (text: string) => text.replace(/:[^/:@]*$/, '')
  const texts = [image, undigested, untagged(image), untagged(undigested)]
  return globs.some((each) => texts.some((text) => isGlobOf(each, text)))
}

/** The first enforced rule that matches a container decides, else the first that matches. */
export function ruleOf(
  { rules }: Rules,
  { name, image }: Image,
  labels: { readonly [key: string]: Json },
  isExempt: (rule: Rule) => boolean,
) {
  const matching = rules.filter(({ match }) => {
    const names = match.container === undefined ? presetOf(match.preset)?.names : [match.container]
    if (names !== undefined && !names.some((glob) => isGlobOf(glob, name))) return false
    if (match.image !== undefined && !isImageOf(match.image, image)) return false
    const wanted = Object.entries(match.podSelector?.matchLabels ?? {})
    return wanted.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
  })
  return matching.find((rule) => rule.enforce === true && !isExempt(rule)) ?? matching[0]
}

const isAtLeast = (version: string | undefined, minor: number) => Number(/^1\.(\d+)/.exec(version ?? '')?.[1]) >= minor

/** What an enforced rule wants of its sidecar, where the pod has no say. */
export function wishesOf({ defaults = {}, kubernetesVersion }: Rules, rule: Rule) {
  const gate = rule.gate ?? defaults.gate ?? 'hook'
  const isNative = gate === 'native' || (gate === 'auto' && isAtLeast(kubernetesVersion, 29))
  const preset = presetOf(rule.match.preset)
  return {
    isNative,
    isFirst: isNative && (rule.nativePosition ?? defaults.nativePosition) === 'first',
    isLocked: (rule.lock ?? defaults.lock) === 'on',
    check: rule.check ?? preset?.check ?? defaults.check ?? 'probe',
    ownHook: preset?.own,
    timeout: rule.timeout,
    onTimeout: rule.onTimeout ?? defaults.onTimeout ?? 'fail',
    isLast: (rule.end ?? defaults.end) === 'last',
    restarts: rule.lockRestarts ?? defaults.lockRestarts ?? '5s',
    keepsHook: (rule.existingHook ?? defaults.existingHook) === 'keep',
  }
}
export type Wishes = ReturnType<typeof wishesOf>
