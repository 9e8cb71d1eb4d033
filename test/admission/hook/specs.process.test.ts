import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../../../src/admission/words/json.ts'
import { runs } from '../../runs.ts'
import { oddPod, pod } from '../arbitraries.ts'
import { after, type Container, decided, type Pod } from '../pods.ts'

/** What the kernel takes in one argument, with its final NUL (MAX_ARG_STRLEN). */
const oneArgument = 128 * 1024

test("the waiter's own parser accepts every command that random pods get, and the kernel every argument", () => {
  const commands = new Set<string>()
  fc.assert(
    fc.property(fc.oneof(pod, oddPod), (before) => {
      const decision = decided(before)
      if (decision.verdict !== 'patched') return
      for (const command of hooks(after(before, decision))) {
        const [program, ...args] = command
        const ours = program === '/.sidecar-first/wait'
        if (ours) commands.add(JSON.stringify(args))
        if (!ours && args[2] !== 'sidecar-first') continue
        for (const word of command) assert.ok(Buffer.byteLength(word) < oneArgument, `${word.length} characters`)
      }
    }),
    runs(6000),
  )
  const dir = mkdtempSync(join(tmpdir(), 'specs-'))
  try {
    const file = join(dir, 'specs')
    writeFileSync(file, [...commands].join('\n'))
    const go = spawnSync('go', ['test', '-count=1', '-v', '-run', '^TestSpecsOf$', '.'], {
      cwd: join(import.meta.dirname, '../../../waiter'),
      env: { ...process.env, WAITER_SPECS: file },
      encoding: 'utf8',
    })
    assert.equal(go.status, 0, go.stdout.slice(0, 8000) + go.stderr)
    assert.match(go.stdout, new RegExp(`${commands.size} commands`))
    for (const kind of ['--spec', 'witness', 'others']) {
      assert.ok(
        [...commands].some((each) => each.startsWith(`["${kind}"`)),
        `no pod got ${kind}`,
      )
    }
  } finally {
    rmSync(dir, { recursive: true })
  }
})

/** The commands of all hooks. */
function hooks({ spec }: Pod): readonly (readonly string[])[] {
  const containers = [...spec.containers, ...((spec.initContainers ?? []) as readonly Container[])]
  return containers.flatMap(({ lifecycle }) => {
    const { postStart, preStop } = (lifecycle ?? {}) as { [hook: string]: { [kind: string]: Json } | null }
    return [postStart, preStop].flatMap((hook) => {
      const { exec } = (hook ?? {}) as { exec?: { command: string[] } }
      return exec === undefined ? [] : [exec.command]
    })
  })
}
