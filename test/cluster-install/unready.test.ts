import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { install } from '../../src/cli/install.ts'
import { uninstall } from '../../src/cli/uninstall.ts'
import { run } from '../cli/inside.ts'

// Nobody passes on what pods send to the API server's cluster IP, as behind a firewall: `serveApi` isn't called here.
describe('an installation whose pods can’t reach the API server', () => {
  before(() => run(uninstall, '--crds', '--yes'))
  after(() => run(uninstall, '--crds', '--yes'))

  test('says why, from the log of the pod that doesn’t get ready', async () => {
    const { code, stdout, stderr } = await run(install, '--apply', '--timeout', '60s')
    assert.equal(code, 1, stdout)
    const why =
      /sidecar-first-certs-\S+: Readiness probe failed: .*; its log: .*(ECONN|EHOST|ENET|refused|reach|answer|timed out|timeout)/i
    assert.match(stdout, why)
    assert.match(stderr, why)
  })
})
