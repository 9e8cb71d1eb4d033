/**
 * What to do next about the certificates, decided only from what the cluster shows and the time: nothing is remembered, so after a
 * crash it continues from any point. All times are in ms since 1970, by the API server's clock.
 */

/** A certificate that can be trusted; `id` is its fingerprint. */
export interface Dated {
  readonly id: string
  readonly issued: number
  readonly expires: number
}

/** A CA in the Secret; `signs` if its key is there and fits. */
export interface Authority extends Dated {
  readonly signs: boolean
}

/** A CA that no longer signs; `lastLeaf` is the longest-lived leaf that it is known to have signed. */
export interface Retired extends Dated {
  readonly lastLeaf: Dated | undefined
}

/** A sound leaf (apart from its dates); `issuer` is the id of the CA that signed it, if the cluster shows that CA. */
export interface Leaf extends Dated {
  readonly issuer: string | undefined
}

/** A CA that isn't in the Secret; `subject` is for people. */
export interface Stranger extends Dated {
  readonly subject?: string
}

export interface SecretShown {
  /** The CA that signs leaves. */
  readonly current: Authority | undefined
  /** The CA that will, once every API server trusts it. */
  readonly next: Authority | undefined
  readonly retired: readonly Retired[]
  readonly leaf: Leaf | undefined
  /** What somebody asked to rotate now. */
  readonly asked: Asked | undefined
}
export type Asked = 'leaf' | 'ca'

export interface Shown {
  readonly now: number
  /** undefined only when the API server says that there is none. */
  readonly secret: SecretShown | undefined
  /** The webhook configurations that exist, with the ids that each of their webhooks trusts. */
  readonly configurations: readonly { readonly name: string; readonly webhooks: readonly (readonly string[])[] }[]
  /** CAs that a configuration trusts and the Secret doesn't have: those of a deleted Secret, say. */
  readonly strangers: readonly Stranger[]
  /** What the ready endpoints serve, each a leaf or 'unanswered'; undefined when they can't be asked. */
  readonly served: readonly (Leaf | 'unanswered')[] | undefined
  /** How long this process has seen every configuration trust the next CA. */
  readonly nextTrustedFor: number
}

export interface Lifetimes {
  readonly authority: number
  readonly leaf: number
  /** How long an API server may take at most to see a changed configuration. */
  readonly settle: number
}

export type Step =
  | { readonly do: 'mint'; readonly reason: MintReason }
  | { readonly do: 'issue'; readonly from: 'current'; readonly reason: LeafReason }
  | { readonly do: 'issue'; readonly from: 'next'; readonly reason: 'settled' | 'nothing-to-lose' }
  | {
      readonly do: 'trust'
      readonly authorities: readonly string[]
      readonly in: readonly string[]
      readonly reason: 'differs'
    }
  | { readonly do: 'drop'; readonly authorities: readonly string[]; readonly reason: 'leaves-expired' }
  | { readonly do: 'wait'; readonly until: number; readonly reason: 'settling' | 'valid' }

export type MintReason =
  | 'secret-missing'
  | 'authority-missing'
  | 'authority-unusable'
  | 'authority-expired'
  | 'authority-due'
  | 'asked'
export type LeafReason = 'leaf-missing' | 'leaf-foreign' | 'leaf-expired' | 'leaf-due' | 'asked'

export type Phase = 'missing' | 'trusting' | 'settling' | 'switching' | 'retiring' | 'steady'

const hour = 3_600_000

/** The next step; 'wait' if everything is as it should be, or will be in time. */
export function next(shown: Shown, lifetimes: Lifetimes): Step {
  const mint = whyMint(shown, lifetimes)
  if (mint || !shown.secret) return { do: 'mint', reason: mint ?? 'secret-missing' }
  const { secret, now } = shown

  const lacking = lackingTrust(shown)
  if (secret.next && trustedEverywhere(shown).has(secret.next.id)) {
    // Also while somebody keeps another difference in a caBundle: that must not hold a rotation up for ever.
    if (shown.nextTrustedFor >= lifetimes.settle) return { do: 'issue', from: 'next', reason: 'settled' }
    if (lacking.length === 0 && nothingToLose(shown, secret)) {
      return { do: 'issue', from: 'next', reason: 'nothing-to-lose' }
    }
  }

  // A leaf from a CA that is trusted already doesn't have to wait for a configuration that can't be written.
  const renew = whyLeaf(shown, secret, lifetimes)
  if (renew && secret.current && trustedEverywhere(shown).has(secret.current.id)) {
    return { do: 'issue', from: 'current', reason: renew }
  }

  if (lacking.length > 0) return { do: 'trust', authorities: wantedTrust(shown), in: lacking, reason: 'differs' }

  const done = secret.retired.filter((authority) => droppable(authority, shown)).map(({ id }) => id)
  if (done.length > 0) return { do: 'drop', authorities: done, reason: 'leaves-expired' }

  if (secret.next) return { do: 'wait', until: now + lifetimes.settle - shown.nextTrustedFor, reason: 'settling' }
  const dates = [now + hour, ...secret.retired.map(dropDate)]
  if (secret.current) dates.push(authorityDue(secret.current, lifetimes))
  if (secret.leaf) dates.push(leafDue(secret.leaf))
  return { do: 'wait', until: Math.min(...dates.filter((date) => date > now)), reason: 'valid' }
}

/** Where the certificates are in their life, for people and metrics; never an input to a decision. */
export function phaseOf(shown: Shown): Phase {
  const { secret, now } = shown
  if (!secret) return 'missing'
  const lacking = lackingTrust(shown).length > 0
  if (secret.next) return lacking ? 'trusting' : 'settling'
  if (!secret.current || !secret.leaf || secret.leaf.expires <= now) return 'missing'
  if (lacking) return 'trusting'
  const { leaf } = secret
  if (shown.served?.some((served) => served !== 'unanswered' && served.id !== leaf.id)) return 'switching'
  return secret.retired.length > 0 ? 'retiring' : 'steady'
}

/** When a leaf is due for renewal: under a third of its life. */
export const leafDue = (leaf: Dated): number => leaf.expires - third(leaf)

/** When a CA is due for its successor: under a third of its life, and always over two leaf lives. */
export const authorityDue = (authority: Dated, { leaf }: Lifetimes): number =>
  authority.expires - Math.max(third(authority), 2 * leaf)

/** When a retired CA may be dropped: a third of a leaf's life after its leaves have expired, because clocks disagree. */
function dropDate({ lastLeaf, ...authority }: Retired): number {
  const last = lastLeaf ?? authority
  return last.expires + third(last)
}

/** The ids that every webhook should trust: our CAs, and strangers as long as they are valid, because their leaves may be served. */
function wantedTrust(shown: Shown): string[] {
  const { secret, strangers, now } = shown
  const ours = [secret?.current, secret?.next, ...(secret?.retired ?? []).filter((one) => !droppable(one, shown))]
  const all = [...ours, ...strangers.filter((stranger) => now < stranger.expires)]
  return [...new Set(all.flatMap((one) => one?.id ?? []))]
}

/** The configurations in which a webhook doesn't trust exactly what it should. */
export function lackingTrust(shown: Shown): string[] {
  const wanted = wantedTrust(shown)
  const differs = (trusted: readonly string[]) =>
    !wanted.every((id) => trusted.includes(id)) || !trusted.every((id) => wanted.includes(id))
  return shown.configurations.filter(({ webhooks }) => webhooks.some(differs)).map(({ name }) => name)
}

function whyMint({ secret, now }: Shown, lifetimes: Lifetimes): MintReason | undefined {
  if (!secret) return 'secret-missing'
  const { current, next, asked } = secret
  if (next?.signs && now < next.expires) return undefined
  if (next) return 'authority-unusable'
  if (!current) return 'authority-missing'
  if (!current.signs) return 'authority-unusable'
  if (now >= current.expires) return 'authority-expired'
  if (now >= authorityDue(current, lifetimes)) return 'authority-due'
  return asked === 'ca' ? 'asked' : undefined
}

function whyLeaf({ now }: Shown, { current, leaf, asked }: SecretShown, lifetimes: Lifetimes): LeafReason | undefined {
  if (!current?.signs || now >= current.expires) return undefined
  if (!leaf) return 'leaf-missing'
  if (leaf.issuer !== current.id) return 'leaf-foreign'
  if (now >= leaf.expires) return 'leaf-expired'
  if (asked === 'leaf') return 'asked'
  // Near the end of its CA, a new leaf would live no longer than the old one.
  const gains = Math.min(now + lifetimes.leaf, current.expires) > leaf.expires
  return now >= leafDue(leaf) && gains ? 'leaf-due' : undefined
}

/**
 * Whether no call can succeed as things are, so that waiting for API servers would only prolong that: no valid CA other than the
 * next one is trusted everywhere, or such a CA has signed neither what an endpoint serves nor the Secret's leaf, which replicas mount
 * sooner or later.
 */
function nothingToLose(shown: Shown, { next, leaf }: SecretShown): boolean {
  const { now, served } = shown
  const known = new Map(knownAuthorities(shown).map((one) => [one.id, one]))
  const alive = [...trustedEverywhere(shown)].filter((id) => id !== next?.id && now < (known.get(id)?.expires ?? 0))
  if (shown.configurations.length === 0 || alive.length === 0) return true
  const works = (one: Leaf) => now < one.expires && one.issuer !== undefined && alive.includes(one.issuer)
  if (leaf && works(leaf)) return false
  return served ? !served.some((one) => one === 'unanswered' || works(one)) : leaf !== undefined
}

function droppable(authority: Retired, { now, served }: Shown): boolean {
  const inUse = served?.some((one) => one !== 'unanswered' && one.issuer === authority.id && now < one.expires)
  return now > dropDate(authority) && !inUse
}

function knownAuthorities({ secret, strangers }: Shown): Dated[] {
  return [secret?.current, secret?.next, ...(secret?.retired ?? []), ...strangers].filter((one) => one !== undefined)
}

/** The ids that all webhooks of all configurations trust; without any configuration, all that we know. */
function trustedEverywhere(shown: Shown): Set<string> {
  const webhooks = shown.configurations.flatMap((configuration) => configuration.webhooks)
  const ids = knownAuthorities(shown).map(({ id }) => id)
  return new Set(ids.filter((id) => webhooks.every((trusted) => trusted.includes(id))))
}

const third = ({ issued, expires }: Dated) => (expires - issued) / 3
