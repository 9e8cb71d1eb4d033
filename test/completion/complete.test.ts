import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { commands } from '../../src/commands.ts'
import type { Cluster } from '../../src/completion/cluster.ts'
import { complete } from '../../src/completion/complete.ts'

const asked: unknown[] = []
const answers = (kind: string, names: readonly string[]) => async (where: unknown) => {
  asked.push([kind, where])
  return names
}
const cluster: Cluster = {
  contexts: answers('contexts', ['kind-a', 'arn:aws:eks:eu-1:1:cluster/b', '$(reboot)', 'a b', "it's", 'c\u001b[2J']),
  namespaces: answers('namespaces', ['shop', 'bank']),
  pods: answers('pods', ['pod/web-1', 'pod/web-2']),
}
/** What a shell is offered for a line; a space at its end begins a new word. */
async function offered(line: string, it: () => Promise<Cluster> = async () => cluster): Promise<readonly string[]> {
  const lines = (await complete(line.split(' '), commands, it, 200)).split('\n')
  assert.deepEqual([lines.at(-1), /^:[04]$/.test(lines.at(-2) ?? '')], ['', true])
  return lines.slice(0, -1).map((each) => each.replace(/\t.*/, ''))
}

describe('completion', () => {
  test('of commands, their actions, flags, and the values that flags take', async () => {
    assert.deepEqual(await offered('che'), ['check', ':4'])
    assert.deepEqual(await offered('help tim'), ['timeline', ':4'])
    assert.deepEqual(await offered('rollout p'), ['pause', 'promote', ':4'])
    assert.deepEqual(await offered('completion '), ['bash', 'zsh', 'fish', ':4'])
    assert.deepEqual(await offered('preview --fail'), ['--fail-on', ':4'])
    assert.deepEqual(await offered('preview -o s'), ['sarif', ':4'])
    assert.deepEqual(await offered('preview --output=s'), ['--output=sarif', ':4'])
    assert.deepEqual(await offered('explain SF00'), [1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => `SF00${n}`).concat(':4'))
    assert.deepEqual(await offered('scan --preset is'), ['istio', ':4'])
    assert.deepEqual(await offered('scan --fail-on u'), ['unguarded', ':4'])
    assert.deepEqual(await offered('check --output json --out'), [':4'], 'a flag that is there already')
  })

  test('of files is left to the shell', async () => {
    assert.deepEqual(await offered('preview k8s/'), [':0'])
    assert.deepEqual(await offered('install --config '), [':0'])
    assert.deepEqual(await offered('scan --fix '), [':0'])
  })

  test('of contexts, namespaces and pods asks the cluster that the line names', async () => {
    asked.length = 0
    assert.deepEqual(await offered('check --context x -n '), ['shop', 'bank', ':4'])
    assert.deepEqual(await offered('check --namespace=shop --context=x pod/w'), ['pod/web-1', 'pod/web-2', ':4'])
    assert.deepEqual(asked, [
      ['namespaces', { context: 'x', namespace: undefined }],
      ['pods', { context: 'x', namespace: 'shop' }],
    ])
    assert.deepEqual(await offered('timeline -n shop pod/web-1 '), [':4'], 'one is enough')
  })

  test('offers no name that a shell would run or a terminal obey', async () => {
    assert.deepEqual(await offered('check --context '), ['kind-a', 'arn:aws:eks:eu-1:1:cluster/b', ':4'])
  })

  test('is empty where a command is unknown, the cluster fails, or it does not answer', async () => {
    assert.deepEqual(await offered('nonsense '), [':4'])
    assert.deepEqual(await offered('constructor '), [':4'])
    assert.deepEqual(await offered('check ', async () => Promise.reject(new Error('no kubeconfig'))), [':4'])
    assert.deepEqual(await offered('check ', () => new Promise(() => {})), [':4'])
  })

  test('knows every flag of every command', async () => {
    for (const [name, { load }] of Object.entries(commands)) {
      const { options } = await load()
      const flags = Object.keys(options).map((flag) => `--${flag}`)
      assert.deepEqual(await offered(`${name} --`), [...flags, '--help', ':4'], name)
    }
  })
})
