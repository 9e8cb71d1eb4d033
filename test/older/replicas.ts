import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import { join } from 'node:path'
import fastJsonPatch from 'fast-json-patch'
import type { Fields, Pod } from '../admission/pods.ts'
import { call } from '../server/call.ts'
import { folder, startPaired } from '../server/pairs.ts'
import { review } from '../server/reviews.ts'
import { checkOut } from './check-out.ts'

/** A replica of a version before, and one of today beside it, as in an upgrade and on the way back. */
type Which = 'old' | 'new'
export const both = ['old', 'new'] as const

interface Answer {
  readonly allowed: boolean
  readonly patch?: string
  readonly warnings?: readonly string[]
  readonly status?: { readonly message: string }
}

export type Replicas = Awaited<ReturnType<typeof startReplicas>>

/** @param more what the configuration of today's replica says, which the one before would refuse */
export async function startReplicas(version: Parameters<typeof checkOut>[0], more = '') {
  const dir = await folder()
  const old = join(dir.path, 'configuration.yaml')
  const today = join(dir.path, 'today.yaml')
  const text = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\nkubernetesVersion: 1.36\n'
  await writeFile(old, text)
  await writeFile(today, text + more)
  const program = await checkOut(version)
  const replicas = {
    old: await startPaired(['--config', old], [], program),
    new: await startPaired(['--config', today]),
  }

  // Hundreds of calls: handshakes would take longer than the answers.
  const agent = new Agent({ keepAlive: true })
  async function ask(which: Which, path: string, object: Pod): Promise<Answer> {
    const { status, json } = await call(`${replicas[which].url}${path}?timeout=5s`, {
      body: JSON.stringify(review(object)),
      agent,
    })
    assert.equal(status, 200, path)
    return (json as { response: Answer }).response
  }

  return {
    ask,
    async patched(which: Which, path: string, object: Pod): Promise<Pod> {
      const { allowed, patch, status } = await ask(which, path, object)
      assert.ok(allowed, status?.message)
      const operations = JSON.parse(Buffer.from(patch ?? 'W10=', 'base64').toString())
      return fastJsonPatch.applyPatch(structuredClone(object), operations).newDocument
    },
    async assertAllowed(by: Which, object: Pod, when: string): Promise<void> {
      const { allowed, status } = await ask(by, '/validate', object)
      assert.ok(allowed, `${when}, judged by the ${by} one: ${status?.message}`)
    },
    async [Symbol.asyncDispose]() {
      agent.destroy()
      await replicas.old[Symbol.asyncDispose]()
      await replicas.new[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}

/** The names of a container's variables of the lock, in their order. */
export const keysOf = (made: Pod, container: string): readonly string[] => {
  const { initContainers = [] } = made.spec as { initContainers?: readonly Fields[] }
  const found = [...made.spec.containers, ...initContainers].find(({ name }) => name === container)
  return ((found?.env ?? []) as readonly Fields[])
    .map(({ name }) => String(name))
    .filter((name) => name.startsWith('SIDECAR_FIRST_READY_'))
}
