import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const script = join(import.meta.dirname, '../../../scripts/cluster')
const env: NodeJS.ProcessEnv = { ...process.env, SIDECAR_FIRST_NODE: 'life-test' }
const cache = env.SIDECAR_FIRST_CACHE ?? join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'sidecar-first')
const state = join(cache, 'run/life-test')
const cluster = async (...args: string[]) => (await promisify(execFile)(script, args, { env })).stdout

// A node of its own, from the outside: what `up` and `down` do to the machine.
describe('the node', () => {
  let untouched: unknown
  before(async () => {
    await cluster('down')
    untouched = traces()
  })
  after(() => cluster('down'))

  test('is Ready, stays when started again, and leaves nothing behind', async () => {
    await cluster('up')
    const [first] = processes()
    assert.ok(first)
    await cluster('kubectl', 'create', 'deployment', 'pause', '--image=docker.io/sidecar-first/pause:1', '--replicas=2')
    await cluster('kubectl', 'rollout', 'status', 'deployment/pause', '--timeout=180s')
    await cluster('up')
    assert.ok(processes().includes(first), 'it is the same node')
    const namespace = processes()
      .map(pidNamespaceOf)
      .find((name) => name !== pidNamespaceOf(process.pid))
    assert.ok(namespace)
    await cluster('down')
    assert.deepEqual(traces(), untouched)
    assert.deepEqual(processesIn(namespace), [])
  })

  for (const delay of [100, 400, 2000, 5000]) {
    test(`is cleared away when \`up\` was killed after ${delay} ms`, async () => {
      await killUp(delay)
      await cluster('down')
      assert.deepEqual(traces(), untouched)
    })
  }

  test('starts after an `up` that was killed, and after its own processes were', async () => {
    await killUp(4000)
    await cluster('up')
    for (const pid of processes()) unlessEnded(() => process.kill(pid, 'SIGKILL'))
    await cluster('up')
    assert.match(await cluster('status'), /node: Ready/)
    await cluster('down')
    assert.deepEqual(traces(), untouched)
  })
})

/** Starts the node and kills the script, not what it has started. */
async function killUp(delay: number): Promise<void> {
  const up = spawn(script, ['up'], { env, stdio: 'ignore' })
  await sleep(delay)
  up.kill('SIGKILL')
  if (up.exitCode === null && up.signalCode === null) await once(up, 'exit')
}

/** What a node could leave on a machine. */
function traces() {
  const list = (path: string) => (existsSync(path) ? readdirSync(path) : undefined)
  const read = (path: string) => readFileSync(path, 'utf8').trim()
  return {
    state: existsSync(state),
    processes: processes(),
    mounts: read('/proc/mounts')
      .split('\n')
      .filter((line) => line.includes(state)),
    folders: ['/run/netns', '/run/containerd', '/run/nri', '/var/lib/kubelet', '/var/lib/cni', '/var/log/pods'].map(
      list,
    ),
    cgroups: ['', ...readdirSync('/sys/fs/cgroup')].map((hierarchy) => list(`/sys/fs/cgroup/${hierarchy}/k8s.io`)),
    settings: ['vm/overcommit_memory', 'kernel/panic', 'kernel/panic_on_oops'].map((key) => read(`/proc/sys/${key}`)),
  }
}

const pids = () => readdirSync('/proc').map(Number).filter(Boolean)

/** The first processes of the node's namespaces, by the argument that marks them. */
const processes = () => pids().filter((pid) => argumentsOf(pid).includes(`sidecar-first-node=${state}`))

/** Zombies aside: the machine's first process reaps them when it likes. */
const processesIn = (pidNamespace: string) =>
  pids().filter((pid) => pidNamespaceOf(pid) === pidNamespace && !isZombie(pid))

const isZombie = (pid: number) => unlessEnded(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))?.includes(') Z ') ?? true

const argumentsOf = (pid: number) => unlessEnded(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))?.split('\0') ?? []

const pidNamespaceOf = (pid: number) => unlessEnded(() => readlinkSync(`/proc/${pid}/ns/pid`))

function unlessEnded<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
