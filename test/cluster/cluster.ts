import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

/** What kubectl printed, and its exit code; `stderr` holds warnings too. */
export type Answer = { code: number | null; stdout: string; stderr: string }

/** Runs kubectl to its end, whatever the outcome. `test/cluster/run` has put it on PATH and the cluster in KUBECONFIG. */
export function tryKubectl(args: readonly string[], input = ''): Promise<Answer> {
  if (!process.env.KUBECONFIG) throw new Error('these tests run in the network of a real node: npm run test:cluster')
  return new Promise((resolve, reject) => {
    const child = spawn('kubectl', args)
    const answer: Answer = { code: null, stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text) => (answer.stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text) => (answer.stderr += text))
    child.on('error', reject).on('close', (code) => resolve({ ...answer, code }))
    child.stdin.on('error', () => {}).end(input) // a kubectl that refuses its arguments reads no input
  })
}

/** kubectl's standard output. @throws with its standard error when it fails */
export async function kubectl(...args: readonly string[]): Promise<string> {
  return succeeded(args, await tryKubectl(args))
}

function succeeded(args: readonly string[], { code, stdout, stderr }: Answer): string {
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr.trim() || `exit code ${code}`}`)
  return stdout
}

/** Any Kubernetes object; the API server checks it. */
export type KubernetesObject = { apiVersion: string; kind: string; metadata: Metadata; [field: string]: unknown }
type Metadata = {
  name: string
  namespace?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
}

const list = (objects: readonly KubernetesObject[]): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })

/** Creates these objects in one call, or says what was refused. The answer's stderr holds the API server's warnings. */
export function tryCreate(objects: readonly KubernetesObject[], ...flags: readonly string[]): Promise<Answer> {
  return tryKubectl(['create', '-f', '-', ...flags], list(objects))
}

/** Creates these objects in one call. @throws when any of them is refused */
export async function create(...objects: readonly KubernetesObject[]): Promise<Answer> {
  const answer = await tryCreate(objects)
  succeeded(['create'], answer)
  return answer
}

/**
 * A namespace with these labels, whose default service account is there, so that pods can be created. What an earlier
 * run has left under that name goes first.
 */
export async function createNamespace(name: string, labels: Record<string, string> = {}): Promise<void> {
  await kubectl('delete', 'namespace', name, '--ignore-not-found')
  await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
  await until(`service account of ${name}`, async () => {
    const { code } = await tryKubectl(['get', 'serviceaccount', 'default', '-n', name])
    return code === 0 ? true : undefined
  })
}

/** Resolves when a ResourceQuota counts: until then no pod is created there. */
export async function quotaCounts(namespace: string, name: string): Promise<void> {
  await until(`quota ${name} of ${namespace}`, async () => {
    const { status } = JSON.parse(await kubectl('get', 'resourcequota', '-n', namespace, name, '-o', 'json'))
    return status?.used ? true : undefined
  })
}

/** Deletes namespaces with all that's in them; doesn't wait for their end. */
export async function deleteNamespaces(...names: readonly string[]): Promise<void> {
  if (names.length > 0) await kubectl('delete', 'namespace', '--ignore-not-found', '--wait=false', ...names)
}

/** Asks until there is an answer. `limit`, in ms, is there to end a broken test and says nothing about speed. */
export async function until<T>(what: string, ask: () => Promise<T | undefined>, limit = 180_000): Promise<T> {
  const end = Date.now() + limit
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (Date.now() > end) throw new Error(`waited ${limit / 1000} s for ${what}`)
    await sleep(300)
  }
}
