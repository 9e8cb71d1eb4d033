import { posix } from 'node:path'
import { lockedScript, shellScript, tierScript } from '../../../src/admission/hook/shell.ts'
import type { Json } from '../../../src/admission/words/json.ts'
import { endOf } from '../end/model.ts'
import { isGlobOf, isImageOf, type Rule, type Rules, ruleOf, type Wishes, wishesOf } from './rules.ts'

/**
 * A small model of the kubelet, written from design and facts and apart from the code: it runs a final pod in a world and says which containers
 * ran before the gate of an enforced sidecar had opened. Whoever wrote the pod is hostile: what is his does the worst that it can. Not in the
 * model: hostPath, later ephemeral containers, privileged pods, and whoever writes the sidecar's own container.
 */
type Fate = 'ready' | 'never ready' | 'crashes' | 'hook fails' | 'no image' | 'kubelet restarts'
const fates: readonly Fate[] = ['never ready', 'crashes', 'hook fails', 'no image', 'kubelet restarts', 'ready']
/** What becomes of each sidecar; ready where nothing else is said. */
type World = Readonly<Record<string, Fate>>

/** A container of the author's that ran although the gate of an enforced sidecar hadn't opened. */
export interface Escape {
  readonly container: string
  readonly sidecar: string
  readonly rule: string
  readonly world: World
  /** Why the gate didn't hold it: never asked, or asked and given up. */
  readonly gate: 'shut' | 'let go'
}

type Map_ = { readonly [key: string]: Json }
const isMap = (value: Json | undefined): value is Map_ =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const map = (value: Json | undefined): Map_ => (isMap(value) ? value : {})
const list = (value: Json | undefined): readonly Map_[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter(isMap) : []
const words = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.map((word) => `${word}`) : []
const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

interface Mount {
  readonly volume: string
  /** From the root and without what can be spelt in many ways. */
  readonly path: string
  readonly readOnly: boolean
  readonly isWhole: boolean
}
interface Container {
  readonly name: string
  readonly image: string
  readonly kind: 'init' | 'native' | 'regular'
  readonly mounts: readonly Mount[]
  /** Files that have to hold a key before it is created. */
  readonly files: readonly { readonly volume: string; readonly path: string; readonly key: string }[]
  readonly hook: Map_ | undefined
  readonly raw: Map_
  readonly rule: Rule | undefined
  readonly wishes: Wishes | undefined
}

const pathOf = (value: Json | undefined) => posix.normalize(`/${text(value)}`).replace(/(.)\/$/, '$1')

function containerOf(raw: Map_, isInit: boolean, rules: Rules, pod: Map_): Container {
  const name = text(raw.name)
  const kind = !isInit ? 'regular' : raw.restartPolicy === 'Always' ? 'native' : 'init'
  const mounts: Mount[] = list(raw.volumeMounts).map((mount) => ({
    volume: text(mount.name),
    path: pathOf(mount.mountPath),
    readOnly: mount.readOnly === true,
    isWhole: text(mount.subPath) === '' && text(mount.subPathExpr) === '',
  }))
  for (const device of list(raw.volumeDevices)) {
    mounts.push({ volume: text(device.name), path: pathOf(device.devicePath), readOnly: false, isWhole: false })
  }
  // A file of the kubelet's, mounted like the others.
  const message = text(raw.terminationMessagePath) || '/dev/termination-log'
  mounts.push({ volume: '', path: pathOf(message), readOnly: false, isWhole: false })
  const files = list(raw.env).flatMap((variable) => {
    const file = map(map(variable.valueFrom).fileKeyRef)
    if (file.volumeName === undefined || file.optional === true) return []
    return [{ volume: text(file.volumeName), path: pathOf(file.path), key: text(file.key) }]
  })
  const hook = map(raw.lifecycle).postStart
  const { labels } = map(pod.metadata)
  const isOut = (each: Rule) => isExempt(each, map(pod.metadata))
  const rule = kind === 'init' ? undefined : ruleOf(rules, { name, image: text(raw.image) }, map(labels), isOut)
  const isBound = rule?.enforce === true && !isOut(rule)
  return {
    name,
    image: text(raw.image),
    kind,
    mounts,
    files,
    hook: isMap(hook) ? hook : undefined,
    raw,
    rule: isBound ? rule : undefined,
    wishes: isBound ? wishesOf(rules, rule) : undefined,
  }
}

function isExempt({ exempt = [] }: Rule, metadata: Map_): boolean {
  const name = text(metadata.name) || text(metadata.generateName)
  return exempt.some((each) => {
    const [namespace = '', glob = ''] = each.split('/')
    return namespace === metadata.namespace && isGlobOf(glob, name)
  })
}

const lockAt = '/.sidecar-first-lock'
const waiterAt = '/.sidecar-first'

const isAtOrBelow = (path: string, at: string) => path === at || path.startsWith(`${at}/`)

/** The volume at one of our paths; undefined unless all of it is there and nothing else at, above or below. */
function volumeAt(container: Pick<Container, 'mounts'>, path: string): string | undefined {
  const there = container.mounts.filter((mount) => mount.path === '/' || isAtOrBelow(mount.path, path))
  const [only] = there
  return there.length === 1 && only?.path === path && only.isWhole && only.volume !== '' ? only.volume : undefined
}

interface Asked {
  readonly container: string
  readonly check: string
  readonly seconds: number
  readonly onTimeout: string
}
/** A hook of ours, as it says itself. */
interface Hook {
  readonly isShell: boolean
  readonly checks: readonly Asked[]
  readonly before: Json | undefined
  readonly lock:
    | {
        readonly path: string
        readonly key: string
        readonly handsOver: boolean
        readonly restarts?: string | undefined
      }
    | undefined
}

function hookOf({ hook }: Pick<Container, 'hook'>): Hook | undefined {
  const command = words(map(hook?.exec).command)
  if (command[0] === '/.sidecar-first/wait')
    return command[1] === '--spec' && command.length === 3 ? spec(command[2]) : undefined
  if (command[0] === 'sh' && command[1] === '-c' && command[3] === 'sidecar-first') return shell(command)
  return undefined
}

function spec(said: string | undefined): Hook | undefined {
  let read: Json
  try {
    read = JSON.parse(said ?? '')
  } catch {
    return undefined
  }
  if (!isMap(read) || read.v !== 1) return undefined
  const lock = isMap(read.lock) ? read.lock : undefined
  return {
    isShell: false,
    checks: list(read.checks).map((each) => ({
      container: text(each.container),
      check: text(each.check),
      seconds: secondsOf(text(each.timeout)),
      onTimeout: text(each.onTimeout),
    })),
    before: read.before,
    lock: lock && {
      path: pathOf(lock.file),
      key: text(lock.key),
      handsOver: lock.handOver !== undefined,
      restarts: lock.lease === 'off' ? 'none' : typeof lock.restarts === 'string' ? lock.restarts : undefined,
    },
  }
}

function shell(command: readonly string[]): Hook | undefined {
  const script = command[2] ?? ''
  const [, gate, named, handOver] =
    /^dir=\/\.sidecar-first-lock gate=(\d+)(?: key=(\w+))? handOver=(\d*)\n/.exec(script) ?? []
  const key = named ?? `SIDECAR_FIRST_READY_${gate}`
  const isOurs =
    script === shellScript ||
    script === tierScript ||
    (gate !== undefined &&
      script ===
        lockedScript({ number: Number(gate), key, handOver: handOver === '' ? undefined : Number(handOver) * 1000 }))
  if (!isOurs) return undefined
  const [kind, count = '0', ...rest] = command.slice(5)
  const before = rest.splice(0, Number(count))
  const checks: Asked[] = []
  while (rest.length >= 10) {
    const [container = '', onTimeout = '', seconds, , , scheme, host, port, path, headers] = rest.splice(0, 10)
    rest.splice(0, Number(headers))
    if (onTimeout === 'earlier') continue
    checks.push({ container, onTimeout, seconds: Number(seconds), check: `${scheme}://${host}:${port}${path}` })
  }
  return {
    isShell: true,
    checks,
    before: kind === 'none' ? undefined : { exec: before },
    lock: gate === undefined ? undefined : { path: `${lockAt}/ready-${gate}`, key, handsOver: handOver !== '' },
  }
}

const units: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 }
function secondsOf(duration: string): number {
  return [...duration.matchAll(/(\d+)(ms|s|m|h)/g)].reduce(
    (sum, [, n, unit]) => sum + Number(n) * (units[unit ?? ''] ?? 0),
    0,
  )
}

/** A probe as a check of its own. */
function probeText(probe: Json | undefined): string | undefined {
  const { httpGet, tcpSocket, grpc, exec } = map(probe)
  if (isMap(httpGet))
    return `${text(httpGet.scheme) === 'HTTPS' ? 'https' : 'http'}://:${httpGet.port}${httpGet.path ?? '/'}`
  if (isMap(tcpSocket)) return `tcp://:${tcpSocket.port}`
  if (isMap(grpc)) return `grpc://:${grpc.port}`
  if (isMap(exec)) return `exec:${JSON.stringify(exec.command)}`
  return undefined
}

/** What has to pass before the gate of an enforced sidecar is open; undefined: nothing, it only comes first. */
function checkOf({ wishes, raw }: Container): string | undefined {
  const check = wishes?.check
  if (check === undefined || check === 'none') return undefined
  const startup = check === 'probe:readiness' ? undefined : probeText(raw.startupProbe)
  const readiness = check === 'probe:startup' ? undefined : probeText(raw.readinessProbe)
  return check.startsWith('probe') ? (startup ?? readiness) : check
}

/** Whether the sidecar's own hook may stand for ours. */
function standsIn({ wishes, hook }: Container): boolean {
  if (wishes === undefined || hook === undefined || wishes.isLocked) return false
  if (wishes.keepsHook) return true
  // By itself, or in front of our waiting for others of its tier.
  const own = hookOf({ hook })?.before
  const command = words(own === undefined ? map(hook.exec).command : map(own).exec).map((word) => posix.basename(word))
  return wishes.ownHook?.every((word, at) => command[at] === word) === true
}

/**
 * The enforced sidecars behind which a later start waits less than their rule says, where something waits at all: a pod of nothing but enforced
 * sidecars of one tier is left as its author wrote it. `absent`: what a hook that says nothing
 * counts as; nothing, if a replica of before may have written it.
 */
export function shortened(pod: Json, rules: Rules, absent?: string): readonly string[] {
  const object = map(pod)
  const given = map(object.spec)
  const all = [
    ...list(given.initContainers).map((raw) => containerOf(raw, true, rules, object)),
    ...list(given.containers).map((raw) => containerOf(raw, false, rules, object)),
  ]
  const length = (said: string) => (said === 'none' ? -1 : said === 'always' ? Infinity : secondsOf(said))
  return all.flatMap((carrier) => {
    const hook = carrier.rule && hookOf(carrier)
    const says = hook?.lock?.restarts ?? absent
    if (rules.lock?.lease === 'off' || hook?.isShell || hook?.lock?.handsOver !== true || says === undefined) return []
    const { key: awaited } = hook.lock
    if (!all.some(({ files }) => files.some(({ key }) => key === awaited))) return []
    // A hook of the sidecar's own isn't run again.
    if (hook.checks.length === 0 && checkOf(carrier)?.startsWith('hook:')) return []
    return all.flatMap(({ name, wishes }) => {
      const isAsked = name === carrier.name || hook.checks.some(({ container }) => container === name)
      const wanted = wishes?.restarts
      if (!isAsked || wanted === undefined || length(says) >= length(wanted)) return []
      return [`behind ${name} a later start waits ${says} and not ${wanted}`]
    })
  })
}

/** Containers of the author's that outlive a sidecar which an enforced rule has end last, or that end after its own preStop. */
export function outlivers(pod: Json, rules: Rules): readonly string[] {
  const object = map(pod)
  const given = map(object.spec)
  // In a shorter one there may be no time for it.
  if (given.terminationGracePeriodSeconds !== undefined && Number(given.terminationGracePeriodSeconds) < 30) return []
  const natives = list(given.initContainers).map((raw) => containerOf(raw, true, rules, object))
  const regular = list(given.containers).map((raw) => containerOf(raw, false, rules, object))
  const lasting = [...natives, ...regular].filter(({ kind, wishes }) => kind !== 'init' && wishes?.isLast)
  if (lasting.length === 0) return []
  // Longer than one is waited for that nobody sees end.
  const ends = endOf(pod, () => ({ own: 1, drain: 8000 }))
  return lasting.flatMap((sidecar) => {
    const behind = regular.slice(regular.indexOf(sidecar) + 1).filter(({ rule }) => rule === undefined)
    const end = ends.get(sidecar.name)
    const waits =
      sidecar.kind === 'regular' || isRunnable(end?.own?.is)
        ? Math.min(end?.sigterm ?? 0, end?.own?.at ?? Infinity)
        : Infinity
    return behind.flatMap(({ name }) =>
      waits < (ends.get(name)?.ended ?? 0) ? [`${sidecar.name} ends before ${name}`] : [],
    )
  })
}

/** A preStop that the kubelet doesn't fail by itself. */
function isRunnable(hook: Json | undefined): boolean {
  const { exec, sleep, httpGet } = map(hook)
  return sleep !== undefined || typeof map(httpGet).port === 'number' || Boolean(words(map(exec).command)[0])
}

export function escapesOf(pod: Json, rules: Rules, only?: World): readonly Escape[] {
  const object = map(pod)
  const given = map(object.spec)
  // The kubelet starts neither a mirror of a pod that it doesn't know nor, on Linux, a pod for Windows.
  if (Object.hasOwn(map(map(object.metadata).annotations), 'kubernetes.io/config.mirror')) return []
  if (map(given.os).name === 'windows' || map(given.nodeSelector)['kubernetes.io/os'] === 'windows') return []
  const inits = list(given.initContainers).map((raw) => containerOf(raw, true, rules, object))
  const regular = list(given.containers).map((raw) => containerOf(raw, false, rules, object))
  const enforced = [...inits, ...regular].filter(({ rule }) => rule !== undefined)
  if (enforced.length === 0) return []
  const tried = only === undefined ? worldsOf(enforced.map(({ name }) => name)) : [only]
  for (const world of tried) {
    const escapes = new Node(given, rules, inits, regular, world).run()
    if (escapes.length > 0) return escapes
  }
  return []
}

/** Each sidecar alone has each bad day, and all of them together. */
function worldsOf(names: readonly string[]): readonly World[] {
  return fates.flatMap((fate): World[] => [
    ...(names.length > 1 && fate !== 'ready' ? names.map((name) => ({ [name]: fate })) : []),
    Object.fromEntries(names.map((name) => [name, fate])),
  ])
}

type Gate = 'shut' | 'let go' | 'open'

class Node {
  readonly #rules: Rules
  readonly #inits: readonly Container[]
  readonly #regular: readonly Container[]
  readonly #world: World
  readonly #gates = new Map<Container, Gate>()
  readonly #running = new Set<Container>()
  readonly #ended = new Set<Container>()
  /** Native sidecars behind which the kubelet has gone on. */
  readonly #started = new Set<Container>()
  /** `volume:path:key` */
  readonly #written = new Set<string>()
  readonly #forged = new Set<string>()
  readonly #installed = new Set<string>()
  readonly #escapes: Escape[] = []
  readonly #volumes: ReadonlyMap<string, Map_>
  readonly #sharesProcesses: boolean

  constructor(given: Map_, rules: Rules, inits: readonly Container[], regular: readonly Container[], world: World) {
    this.#rules = rules
    this.#inits = inits
    this.#regular = regular
    this.#world = world
    this.#volumes = new Map(list(given.volumes).map((volume) => [text(volume.name), volume]))
    this.#sharesProcesses = given.shareProcessNamespace === true || given.hostPID === true
    for (const each of [...inits, ...regular]) if (each.rule) this.#gates.set(each, 'shut')
    for (const [name, volume] of this.#volumes) {
      const dir = volume.emptyDir
      // What isn't an empty folder in memory has had its content written before, if only before a reboot.
      if (!isMap(dir) || dir.medium !== 'Memory') this.#forged.add(`lock ${name}`)
    }
  }

  run(): readonly Escape[] {
    let before = -1
    // The kubelet tries again and again; what it wrote or started stays.
    while (before !== this.#size()) {
      before = this.#size()
      this.#sync()
    }
    return this.#escapes
  }

  #size(): number {
    const gates = [...this.#gates.values()].filter((gate) => gate !== 'shut').length
    return gates + this.#running.size + this.#ended.size + this.#started.size + this.#written.size + this.#forged.size
  }

  #sync(): void {
    for (const container of this.#inits) {
      if (this.#ended.has(container) || this.#started.has(container)) continue
      if (this.#isStuck(container) || (!this.#running.has(container) && !this.#start(container))) return
      if (container.kind === 'init') {
        this.#running.delete(container)
        this.#ended.add(container)
      } else if (this.#passes(container)) this.#started.add(container)
      else return
    }
    // A regular one that can't start, or whose hook fails, holds up nobody.
    for (const container of this.#regular) {
      if (!this.#running.has(container)) this.#start(container)
    }
  }

  #start(container: Container): boolean {
    const isMissing = this.#fate(container) === 'no image'
    const isHeld = container.files.some(
      ({ volume, path, key }) => !this.#forged.has(`lock ${volume}`) && !this.#written.has(`${volume}:${path}:${key}`),
    )
    if (isMissing || isHeld) {
      // Behind a regular one that isn't started, the next begins: its gate is open, if it was one.
      if (container.kind === 'regular') this.#letGo(container)
      return false
    }
    if (container.rule === undefined && !this.#installs(container)) this.#mayRun(container)
    this.#running.add(container)
    this.#spoil(container)
    if (container.kind === 'regular') this.#runHook(container)
    return true
  }

  #fate({ rule, name }: Container): Fate {
    return rule === undefined ? 'ready' : (this.#world[name] ?? 'ready')
  }

  /** Those for whom a container's hook waits. */
  #letGo(container: Container): void {
    const waited = new Set([container.name, ...(hookOf(container)?.checks.map(({ container: name }) => name) ?? [])])
    for (const [sidecar, gate] of this.#gates) {
      if (gate === 'shut' && waited.has(sidecar.name) && this.#waits(container, sidecar))
        this.#gates.set(sidecar, 'let go')
    }
  }

  /** Whether a container's start or hook is what a sidecar's gate should consist of. */
  #waits(container: Container, sidecar: Container): boolean {
    const check = checkOf(sidecar)
    if (container === sidecar && (check === undefined || standsIn(sidecar))) return true
    if (check === undefined || standsIn(sidecar)) return false
    if (container === sidecar && check.startsWith('hook:')) return this.#runsCheck(sidecar, check)
    const hook = this.#intact(container)
    if (hook === undefined) return false
    // A tier with somebody else's container in it opens or fails as that one pleases.
    if (hook.checks.some((each) => !this.#isEnforced(each.container))) return false
    const { wishes } = sidecar
    return hook.checks.some(
      (each) =>
        each.container === sidecar.name &&
        each.check === check &&
        each.onTimeout === wishes?.onTimeout &&
        (wishes.timeout === undefined || each.seconds >= secondsOf(wishes.timeout)),
    )
  }

  /** A check that is a command of the sidecar's image, run as the hook or in front of the waiting. */
  #runsCheck(sidecar: Container, check: string): boolean {
    const command = check.slice('hook:'.length)
    const bare = JSON.stringify(map(sidecar.hook?.exec).command ?? [])
    if (bare === command) return !sidecar.wishes?.isLocked
    const hook = this.#intact(sidecar)
    return hook !== undefined && JSON.stringify(map(hook.before).exec ?? []) === command
  }

  #isEnforced(name: string): boolean {
    return [...this.#gates.keys()].some((each) => each.name === name)
  }

  /** A hook of ours that runs our program. */
  #intact(container: Container): Hook | undefined {
    const hook = hookOf(container)
    if (hook === undefined) return undefined
    if (hook.isShell) return hook
    const volume = volumeAt(container, waiterAt)
    if (volume === undefined || this.#forged.has(`waiter ${volume}`)) return undefined
    const { image } = map(this.#volumes.get(volume))
    const isOurs = isMap(image) ? this.#isWaiter(text(image.reference)) : this.#installed.has(volume)
    return isOurs ? hook : undefined
  }

  #isWaiter(image: string): boolean {
    const { waiter = {} } = this.#rules
    const own = (waiter.image ?? 'sidecar-first/waiter:0.0.0').replace(/@[^/@]*$/, '').replace(/:[^/:]*$/, '')
    return isImageOf(own, image) || (waiter.mirrors ?? []).some((glob) => isImageOf(glob, image))
  }

  /** Whether it runs nothing but our program, which copies the waiter, if it can write there. */
  #installs(container: Container): boolean {
    const { kind, image, raw } = container
    if (kind !== 'init' || !this.#isWaiter(image) || raw.args !== undefined) return false
    const [wait, install, at, ...reset] = words(raw.command)
    if (wait !== '/wait' || install !== 'install' || at !== waiterAt) return false
    if (reset.length > 0 && (reset[0] !== '--reset' || reset[1] !== lockAt || reset.length !== 2)) return false
    if (volumeAt(container, waiterAt) === undefined) return false
    if (container.mounts.some(({ path }) => isAtOrBelow(path, '/wait'))) return false
    return container.mounts.every((mount) => mount.path !== waiterAt || !mount.readOnly)
  }

  /** Our image whose program, or the name that it is to copy it to, is under the file for the termination message: it can't run, or not rename. */
  #isStuck({ kind, image, mounts }: Container): boolean {
    const message = mounts.at(-1)?.path ?? ''
    return kind === 'init' && this.#isWaiter(image) && (isAtOrBelow(message, '/wait') || isAtOrBelow(message, waiterAt))
  }

  /** What a container can write, it has written: the installer what it should, enforced sidecars nothing wrong, anybody else the worst. */
  #spoil(container: Container): void {
    if (this.#installs(container)) {
      const volume = volumeAt(container, waiterAt)
      if (volume !== undefined && isMap(map(this.#volumes.get(volume)).emptyDir)) this.#installed.add(volume)
    } else if (container.rule === undefined) {
      this.#forge(container)
      if (this.#sharesProcesses) for (const other of this.#running) this.#forge(other)
    } else if (this.#sharesProcesses) {
      for (const other of this.#running) if (other.rule === undefined && other.kind !== 'init') this.#forge(container)
    }
  }

  #forge({ mounts }: Container): void {
    for (const { volume, readOnly } of mounts) {
      // An image's files can't be written.
      if (readOnly || map(this.#volumes.get(volume)).image !== undefined) continue
      this.#forged.add(`lock ${volume}`)
      this.#forged.add(`waiter ${volume}`)
    }
  }

  /** Runs the hook of an enforced sidecar; anybody else's does what its author wants. True: the kubelet takes it for done. */
  #runHook(container: Container): boolean {
    if (container.rule === undefined) return true
    const fate = this.#fate(container)
    const sidecars = [...this.#gates.keys()].filter((sidecar) => this.#waits(container, sidecar))
    const hook = this.#intact(container)
    const isRegular = container.kind === 'regular'
    const isCut = fate === 'crashes' || fate === 'hook fails' || fate === 'kubelet restarts'
    const waits = hook !== undefined || checkOf(container)?.startsWith('hook:') === true || standsIn(container)
    if (isCut && waits) {
      for (const sidecar of sidecars) if (this.#gates.get(sidecar) === 'shut') this.#gates.set(sidecar, 'let go')
      return fate === 'kubelet restarts'
    }
    const late = sidecars.filter(
      (sidecar) =>
        checkOf(sidecar) !== undefined &&
        this.#fate(sidecar) !== 'ready' &&
        (sidecar.wishes?.onTimeout !== 'continue' ||
          standsIn(sidecar) ||
          checkOf(sidecar)?.startsWith('hook:') === true),
    )
    for (const sidecar of sidecars) if (!late.includes(sidecar)) this.#gates.set(sidecar, 'open')
    if (late.length === 0) {
      if (hook?.lock !== undefined) this.#write(container, hook.lock)
      return true
    }
    if (hook?.lock?.handsOver === true) return true
    if (isRegular) for (const sidecar of late) this.#gates.set(sidecar, 'let go')
    return false
  }

  #write(container: Container, { path, key }: NonNullable<Hook['lock']>): void {
    const volume = volumeAt(container, lockAt)
    if (volume === undefined || posix.dirname(path) !== lockAt) return
    this.#written.add(`${volume}:/${posix.basename(path)}:${key}`)
  }

  /** Whether the kubelet goes on behind a native sidecar that runs. */
  #passes(container: Container): boolean {
    if (container.rule === undefined) return true
    const fate = this.#fate(container)
    const isDone = this.#runHook(container)
    const probe = probeText(container.raw.startupProbe)
    if (fate === 'kubelet restarts') {
      if (probe !== undefined && this.#gates.get(container) === 'shut' && checkOf(container) === probe)
        this.#gates.set(container, 'let go')
      return true
    }
    if (!isDone) return false
    if (probe === undefined) return true
    if (fate !== 'ready') return false
    if (checkOf(container) === probe) this.#gates.set(container, 'open')
    return true
  }

  /** Notes a container of the author's that runs before a gate has opened. */
  #mayRun(container: Container): void {
    for (const [sidecar, gate] of this.#gates) {
      const { rule, wishes } = sidecar
      if (rule === undefined || wishes === undefined || gate === 'open') continue
      const fate = this.#fate(sidecar)
      // A hook is a gate that opens on a bad day; only a lock holds while the kubelet restarts.
      const mustHold = checkOf(sidecar) !== undefined && (wishes.isLocked || (wishes.isNative && !this.#restarts()))
      if (gate === 'let go' && !mustHold) continue
      if (this.#isAllowed(container, rule, wishes)) continue
      this.#escapes.push({
        container: container.name,
        sidecar: sidecar.name,
        rule: rule.name,
        world: { [sidecar.name]: fate, ...this.#world },
        gate,
      })
    }
  }

  #restarts(): boolean {
    return Object.values(this.#world).includes('kubelet restarts')
  }

  #isAllowed({ kind, name, image }: Container, { allowNatives = [] }: Rule, { isFirst }: Wishes): boolean {
    if (kind === 'init') return !isFirst
    if (kind === 'native' && allowNatives.includes(name)) return true
    const inFront = this.#rules.enforced?.inFront ?? []
    return inFront.some((each) => isGlobOf(each.container, name) && isImageOf(each.image, image))
  }
}
