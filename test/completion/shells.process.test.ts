import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const main = join(import.meta.dirname, '../../src/main.ts')
let folder: string
let env: NodeJS.ProcessEnv
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sidecar-first-shells-'))
  await writeFile(join(folder, 'sidecar-first'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, {
    mode: 0o755,
  })
  await writeFile(
    join(folder, 'completion.bash'),
    (await execute(process.execPath, [main, 'completion', 'bash'])).stdout,
  )
  const contexts = ['arn:aws:eks:eu-1:1:cluster/b', 'kind-a'].map((name) => ({
    name,
    context: { cluster: 'c', user: 'u' },
  }))
  const cluster = { server: 'https://127.0.0.1:1' }
  const config = {
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: {} }],
    contexts,
    'current-context': 'kind-a',
  }
  await writeFile(join(folder, 'config'), JSON.stringify(config))
  env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, KUBECONFIG: join(folder, 'config'), LC_ALL: 'C.UTF-8' }
})
after(() => rm(folder, { recursive: true }))

/** What bash makes of a Tab: its own splitting of the line, at = and : as well, is what COMP_WORDS holds. */
async function inBash(line: string): Promise<string[]> {
  const pieces = line.split(/(?<=[=:])|(?=[=:])| /)
  const script = `source completion.bash
    COMP_LINE="$1" COMP_POINT=\${#1}; shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    compopt() { echo "compopt $*"; }
    _sidecar_first sidecar-first
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = await execute('bash', ['--norc', '-euc', script, 'bash', line, ...pieces], {
    cwd: folder,
    env,
  })
  assert.equal(stderr, '')
  return stdout.split('\n').filter((each) => each !== '')
}

describe('a Tab', () => {
  test('in bash', async () => {
    assert.deepEqual(await inBash('sidecar-first time'), ['timeline'])
    assert.deepEqual(await inBash('sidecar-first preview --gate '), ['hook', 'native', 'auto'])
    assert.deepEqual(await inBash('sidecar-first preview --gate=na'), ['native'])
    assert.deepEqual(await inBash('sidecar-first check --context arn:aws:e'), ['eks:eu-1:1:cluster/b'])
    assert.deepEqual(await inBash('sidecar-first check --context arn:'), ['aws:eks:eu-1:1:cluster/b'])
    assert.deepEqual(await inBash('sidecar-first preview k8'), ['compopt -o default'])
    assert.deepEqual(
      await inBash('sidecar-first check pod/'),
      [],
      'a cluster that is not there is no error in a prompt',
    )
  })

  for (const [shell, script] of [
    [
      'zsh',
      `autoload -U compinit; compinit -u -D; source <(sidecar-first completion zsh)
      compadd() { shift; print -rl -- "$@" }; _files() { print files }
      words=(sidecar-first preview --gate '') CURRENT=4 _sidecar_first; words=(sidecar-first preview '') CURRENT=3 _sidecar_first`,
    ],
    ['fish', `sidecar-first completion fish | source; complete -C 'sidecar-first preview --gate '; echo files`],
  ] as const) {
    const there = execute(shell, ['--version']).then(
      () => true,
      () => false,
    )
    test(`in ${shell}, where it is installed`, async (context) => {
      if (!(await there)) return context.skip(`there is no ${shell}`)
      const { stdout, stderr } = await execute(shell, ['-c', script], { env })
      assert.deepEqual([stdout.trim().split('\n').toSorted(), stderr], [['auto', 'files', 'hook', 'native'], ''])
    })
  }

  test('of kubectl, which asks a program beside the plugin', async () => {
    await symlink(main, join(folder, 'kubectl_complete-sidecar_first'))
    const shim = join(folder, 'kubectl_complete-sidecar_first')
    const { stdout } = await execute(process.execPath, [shim, 'preview', '--gate', 'na'], { env })
    assert.equal(stdout, 'native\n:4\n')
  })
})
