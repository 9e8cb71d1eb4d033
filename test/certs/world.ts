import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import {
  type Asked,
  type Authority,
  type Dated,
  type Leaf,
  type Lifetimes,
  next,
  type Retired,
  type SecretShown,
  type Shown,
  type Step,
} from '../../certs/decide-step.ts'

export const SECOND = 1000
export const HOUR = 3600 * SECOND
export const DAY = 24 * HOUR
export const lifetimes: Lifetimes = { authority: 365 * DAY, leaf: 30 * DAY, settle: 300 * SECOND }
/** How far the clock that the process reads may be off; a leaf that expires within this counts as expired or not. */
export const SKEW = 2 * HOUR

interface Version<T> {
  readonly at: number
  readonly value: T
}
type Secret = { -readonly [K in keyof SecretShown]: SecretShown[K] }

/**
 * A model of a cluster, a fake: certificates are names and dates. API servers see a written configuration up to `settle` later,
 * each at a time of its own; replicas mount a written leaf as late as they like.
 */
export class World {
  time = 1_000 * DAY
  skew = 0
  secret: Secret | undefined
  steps: Step[] = []
  readonly #leaves: Version<Leaf>[] = []
  readonly #configurations = new Map<string, Version<string[]>[]>()
  readonly #servers = [0, 0]
  readonly #replicas = [0, 0]
  readonly #authorities = new Map<string, Dated>()
  readonly #leader = new Leader(this)
  #count = 0
  #answering: boolean
  /** Whether no replica is ready. */
  #down = false
  #spoiled = true

  constructor({
    answering,
    configurations = ['mutating', 'validating'],
  }: { answering: boolean; configurations?: string[] }) {
    this.#answering = answering
    for (const name of configurations) this.create(name)
  }

  create(name: string) {
    this.#configurations.set(name, [{ at: this.time, value: [] }])
  }

  advance(ms: number) {
    this.time += ms
    this.#servers.forEach((seen, i) => {
      this.#servers[i] = Math.max(seen, this.time - lifetimes.settle)
    })
    this.check()
  }

  /** The API server `i` catches up with all that is written. */
  sync(i: number) {
    this.#servers[i] = this.time
    this.check()
  }

  /** The replica `i` mounts the leaf that is in the Secret. */
  mount(i: number) {
    this.#replicas[i] = this.time
    this.check()
  }

  catchUp() {
    this.#servers.fill(this.time)
    this.#replicas.fill(this.time)
    this.check()
    this.#spoiled = this.#uncovered(this.#mounted()) !== undefined
  }

  /** Another process takes over, which remembers nothing. */
  crash() {
    this.#leader.kill()
  }

  /** The Secret is deleted. */
  delete() {
    this.secret = undefined
  }

  /** Replicas go, and come back with what they mount then. */
  toggleReplicas() {
    this.#down = !this.#down
    if (!this.#down) this.#replicas.fill(this.time)
    this.check()
  }

  wipe(name: string) {
    this.#write(name, [])
    this.#spoiled = true
  }

  ask(what: Asked) {
    if (this.secret) this.secret.asked = what
  }

  /** One look and one step, as the process does. */
  step(): Step {
    this.#leader.readSecret()
    this.#leader.readConfigurations()
    return this.#leader.act() ?? assert.fail('nothing was read')
  }

  /** Steps until there is nothing left but to wait. */
  settleSteps(): Step {
    for (let i = 0; i < 12; i++) {
      const step = this.step()
      if (step.do === 'wait') return step
    }
    assert.fail(`no end of steps: ${JSON.stringify(this.steps.slice(-6))}`)
  }

  /** Every leaf that a replica serves must be covered by what every API server trusts. */
  check() {
    if (this.#spoiled) return
    assert.equal(this.#uncovered(), undefined, `uncovered after ${JSON.stringify(this.steps.slice(-4))}`)
  }

  #uncovered(leaves = this.#served()) {
    return this.#pairs(leaves).find(({ leaf, trusted }) => this.#valid(leaf) && !trusted.includes(leaf.issuer ?? ''))
  }

  #mounted(): (Leaf | undefined)[] {
    return this.#replicas.map((mounted) => latest(this.#leaves, mounted))
  }

  #served(): (Leaf | undefined)[] {
    return this.#down ? [] : this.#mounted()
  }

  #pairs(leaves = this.#served()) {
    return [...this.#configurations.values()].flatMap((versions) =>
      this.#servers.flatMap((seen) =>
        leaves.flatMap((leaf) => (leaf ? [{ leaf, trusted: latest(versions, seen) ?? [] }] : [])),
      ),
    )
  }

  #valid(leaf: Leaf) {
    return this.time < leaf.expires - SKEW
  }

  /** What the API server answers about the configurations now. */
  configurations(): ReadonlyMap<string, { readonly trusted: readonly string[]; readonly version: number }> {
    return new Map(
      [...this.#configurations].map(([name, versions]) => [
        name,
        { trusted: latest(versions, this.time) ?? [], version: versions.length },
      ]),
    )
  }

  /** What a look shows. @param secret @param configurations as they were read, maybe some time ago */
  show(
    secret: SecretShown | undefined,
    configurations: ReturnType<World['configurations']>,
  ): Omit<Shown, 'nextTrustedFor'> {
    const shown = [...configurations].map(([name, { trusted }]) => ({ name, webhooks: [trusted] }))
    const known = [secret?.current, secret?.next, ...(secret?.retired ?? [])].flatMap((one) => one?.id ?? [])
    const strange = new Set(shown.flatMap(({ webhooks }) => webhooks.flat()).filter((id) => !known.includes(id)))
    const strangers = [...strange].flatMap((id) => this.#authorities.get(id) ?? [])
    const served = this.#served().flatMap((leaf) => leaf ?? [])
    return {
      now: this.time + this.skew,
      secret,
      configurations: shown,
      strangers,
      served: this.#answering ? served : undefined,
    }
  }

  /** Carries a step out, but for what has changed since it was read: the API server refuses that. */
  take(step: Step, read: SecretShown | undefined, configurations: ReturnType<World['configurations']>) {
    this.steps.push(step)
    const conflict = step.do !== 'trust' && !isDeepStrictEqual(read, this.secret)
    if (!conflict) this.#act(step, configurations)
    this.check()
  }

  #act(step: Step, configurations: ReturnType<World['configurations']>) {
    switch (step.do) {
      case 'wait':
        return
      case 'mint':
        this.secret ??= { current: undefined, next: undefined, retired: [], leaf: undefined, asked: undefined }
        this.secret.next = this.#authority()
        if (this.secret.asked === 'ca') this.secret.asked = undefined
        return
      case 'trust':
        for (const name of step.in) {
          const same = configurations.get(name)?.version === this.#configurations.get(name)?.length
          if (same) this.#write(name, [...step.authorities])
        }
        return
      case 'issue':
        if (step.reason === 'nothing-to-lose') this.#loseNothing()
        return this.#issue(step.from)
      case 'drop': {
        const { secret } = this
        assert.ok(secret)
        secret.retired = secret.retired.filter(({ id }) => !step.authorities.includes(id))
        return
      }
      default:
        return step satisfies never
    }
  }

  #loseNothing() {
    if (this.#spoiled) return
    // What is in the Secret counts: a replica may mount it at any time.
    const working = [...this.#pairs(), ...this.#pairs([this.secret?.leaf])].filter(
      ({ leaf, trusted }) => this.#valid(leaf) && trusted.includes(leaf.issuer ?? ''),
    )
    assert.deepEqual(working, [], 'the settling was skipped while calls succeeded')
    this.#spoiled = true
  }

  #issue(from: 'current' | 'next') {
    const { secret } = this
    const signer = secret?.[from]
    assert.ok(secret && signer?.signs, 'a leaf from a CA that is not there')
    if (from === 'next') {
      if (secret.current) secret.retired = [...secret.retired, this.#retire(secret.current)]
      secret.current = signer
      secret.next = undefined
      secret.asked = undefined
    }
    if (secret.asked === 'leaf') secret.asked = undefined
    const now = this.time + this.skew
    const expires = Math.min(now + lifetimes.leaf, signer.expires)
    secret.leaf = { id: `leaf${++this.#count}`, issuer: signer.id, issued: now, expires }
    this.#leaves.push({ at: this.time, value: secret.leaf })
  }

  #retire({ id, issued, expires }: Authority): Retired {
    const signed = this.#leaves.map(({ value }) => value).filter(({ issuer }) => issuer === id)
    const lastLeaf = signed.sort((a, b) => a.expires - b.expires).at(-1)
    return { id, issued, expires, lastLeaf }
  }

  #authority(): Authority {
    const now = this.time + this.skew
    const authority = { id: `ca${++this.#count}`, issued: now, expires: now + lifetimes.authority, signs: true }
    this.#authorities.set(authority.id, authority)
    return authority
  }

  #write(name: string, ids: string[]) {
    this.#configurations.get(name)?.push({ at: this.time, value: ids })
  }
}

/** A process that leads, or believes that it does: it acts on what it has read, which others may have changed since. */
export class Leader {
  readonly #world: World
  #secret: { readonly value: SecretShown | undefined } | undefined
  #configurations: ReturnType<World['configurations']> | undefined
  #trusted: { id: string; since: number } | undefined

  constructor(world: World) {
    this.#world = world
  }

  readSecret() {
    this.#secret = { value: structuredClone(this.#world.secret) }
  }

  readConfigurations() {
    this.#configurations = this.#world.configurations()
    const id = this.#secret?.value?.next?.id
    const everywhere = [...this.#configurations.values()].every(({ trusted }) => id && trusted.includes(id))
    if (id === undefined || !everywhere) this.#trusted = undefined
    else if (this.#trusted?.id !== id) this.#trusted = { id, since: this.#world.time }
  }

  /** Takes the next step by what it has read; undefined if it hasn't read everything since its start. */
  act(): Step | undefined {
    if (!this.#secret || !this.#configurations) return undefined
    const [secret, configurations] = [this.#secret.value, this.#configurations]
    const nextTrustedFor = this.#trusted ? this.#world.time - this.#trusted.since : 0
    const step = next({ ...this.#world.show(secret, configurations), nextTrustedFor }, lifetimes)
    this.#world.take(step, secret, configurations)
    return step
  }

  /** Another process takes its place, which remembers nothing. */
  kill() {
    this.#secret = undefined
    this.#configurations = undefined
    this.#trusted = undefined
  }
}

function latest<T>(versions: readonly Version<T>[], seen: number): T | undefined {
  return versions.findLast(({ at }) => at <= seen)?.value
}

/** A model that has bootstrapped, and that every API server and replica has caught up with. */
export function established(options: { answering: boolean }): World {
  const world = new World(options)
  world.settleSteps()
  world.catchUp()
  return world
}

/** Left alone for twice the settling time, a cluster ends with a valid leaf of its only CA. */
export function endsWell(world: World): void {
  for (let i = 0; i < 4; i++) {
    world.settleSteps()
    world.advance(lifetimes.settle / 2)
  }
  world.settleSteps()
  world.catchUp()
  assert.ok(world.secret?.leaf && world.secret.leaf.expires > world.time)
  assert.equal(world.secret.leaf.issuer, world.secret.current?.id)
  assert.equal(world.secret.next, undefined)
}
