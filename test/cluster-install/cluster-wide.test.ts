import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { install } from '../../src/cli/install.ts'
import { type Ended, run } from '../cli/inside.ts'
import { createNamespace, deleteNamespaces, kubectl, until } from '../cluster/cluster.ts'
import { installed, namespace, ordered, orderOf, startServe, stopServe, tryOut } from './installation.ts'

describe('the other mode by the same command, failurePolicy Ignore for all namespaces', () => {
  const any = 'install-any'
  const out = 'install-opted-out'
  let switched: Ended
  before(async () => {
    await installed('--preview')
    switched = await installed('--mode', 'cluster-wide')
    await createNamespace(any)
    await createNamespace(out, { 'sidecar-first.dev/injection': 'disabled' })
  })
  after(() => deleteNamespaces(any, out))

  test('removes the part that this command no longer names', async () => {
    for (const kind of ['deployment', 'service', 'networkpolicy']) {
      assert.match(switched.stdout, new RegExp(`^${kind}/sidecar-first-preview +removed`, 'm'))
    }
    assert.doesNotMatch(await kubectl('get', 'deploy', '-n', namespace, '-o', 'name'), /preview/)
  })

  test('sees to pods of any namespace, but for those that opt out', async () => {
    assert.deepEqual(await orderOf(any), ['sidecar', 'app'])
    assert.deepEqual(await orderOf(out), ['app', 'sidecar'])
    assert.deepEqual(await orderOf(any, { labels: { 'sidecar-first.dev/inject': 'false' } }), ['app', 'sidecar'])
  })

  test("refuses an annotation that would run a command in the pod's sidecar", async () => {
    const annotations = { 'check.sidecar-first.dev/sidecar': 'exec:["/x"]' }
    const refused = async () => {
      const { code, stderr } = await tryOut(any, { annotations })
      return code === 1 ? stderr : undefined
    }
    assert.match(await until('the new configuration', refused), /check\.sidecar-first\.dev\/sidecar/)
  })

  test('takes rules from a file, refuses to drop them unasked, and takes them back', async () => {
    const team = 'install-team'
    await createNamespace(team, { team: 'a' })
    const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-install-'))
    const file = join(folder, 'config.yaml')
    const configured = async (...teams: string[]) => {
      await writeFile(file, rules(teams))
      await installed('--mode', 'cluster-wide', '--config', file)
      const names = [
        'get',
        'mutatingwebhookconfiguration',
        'zz-sidecar-first',
        '-o',
        'jsonpath={.webhooks[?(@.rules)].name}',
      ]
      return (await kubectl(...names)).split(' ').length
    }
    const silent = () => orderOf(team, { annotations: { 'sidecar-first.dev/sidecars': '*' } })
    try {
      // The one that plans, the one that removes marks, and one for each selector.
      assert.equal(await configured('a', 'b'), 4)
      await until('the rules', async () => ((await silent())[0] === 'sidecar' ? true : undefined))
      assert.equal(await configured('b'), 3)
      await until('their end', async () => ((await silent())[0] === 'app' ? true : undefined))
      const refused = await run(install, '--apply', '--mode', 'cluster-wide')
      assert.equal(refused.code, 1)
      assert.match(refused.stderr, /name its file with --config/)
    } finally {
      await installed('--mode', 'cluster-wide', '--force')
      await rm(folder, { recursive: true })
      await deleteNamespaces(team)
    }
  })

  test('lets pods start as they are while all replicas are gone, and goes on when they are back', async () => {
    await stopServe()
    assert.deepEqual(await orderOf(any), ['app', 'sidecar'])
    const metrics = await kubectl('get', '--raw', '/metrics')
    assert.match(metrics, /^apiserver_admission_webhook_fail_open_count\{name="pods\.sidecar-first\.dev"/m)
    await startServe()
    await ordered(any, ['sidecar', 'app']) // the API server hears of the new replicas a moment later
  })
})

const rules = (teams: readonly string[]) => `apiVersion: sidecar-first.dev/v1
kind: Configuration
rules:
${teams.map((team) => `- {name: ${team}, tier: 1, match: {container: sidecar, namespaceSelector: {matchLabels: {team: ${team}}}}}`).join('\n')}
`
