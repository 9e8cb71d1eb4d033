import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { rollout } from '../../../src/cli/rollout.ts'

const terminal = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(), color: false }

const wrong: readonly [words: string, message: RegExp][] = [
  ['', /^missing action: start, status, pause, resume, promote, undo, finish$/],
  ['begin', /^unknown action "begin": start, /],
  ['start', /^start needs --selector: /],
  ['start shop --selector app=shop', /^start takes no "shop"$/],
  [
    'start --selector app=shop --container envoy --image a --deadline 5',
    /^--deadline: "5" is not a duration; use 1s to 7d/,
  ],
  ['pause', /^pause needs the rollout's NAME$/],
  ['pause a b', /^pause takes no "b"$/],
  ['pause a --wait', /^pause takes no --wait$/],
  ['undo a --partition 5', /^undo takes no --partition$/],
  ['promote a --partition 105%', /^--partition takes /],
  ['promote a --image b', /^promote takes no --image$/],
  ['promote a --timeout 5m', /^--timeout goes with --wait$/],
  ['promote a --wait --timeout soon', /^--timeout: "soon" is not a duration; use 1s to 7d/],
  ['status --wait', /^--wait needs the rollout's NAME$/],
  ['status a -o yaml', /^--output takes json, not "yaml"$/],
  ['status a -o json --wait', /^-o json does not go with --wait$/],
  ['resume a -o json', /^resume takes no --output$/],
  ['status a --color', /Unknown option '--color'/],
]
for (const [words, message] of wrong) {
  test(`a wrong call: rollout ${words}`, async () => {
    const args = words.split(' ').filter((word) => word !== '')
    await assert.rejects(rollout.run(args, terminal), { message })
  })
}

test('the example in its help is one that the command takes', async () => {
  const [, example = ''] = /sidecar-first rollout (start .*?) --wait/s.exec(rollout.help) ?? []
  const words = example.replace('\\\n', '').split(/ +/)
  await assert.rejects(rollout.run([...words, '--timeout', '1s'], terminal), { message: '--timeout goes with --wait' })
})
