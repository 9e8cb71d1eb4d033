import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { paste, run } from './process.ts'

const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-'))
after(() => rm(folder, { recursive: true }))

/** The code of a page's blocks in a language, in order. */
async function blocks(page: string, language: string): Promise<string[]> {
  const text = await readFile(new URL(`../../${page}`, import.meta.url), 'utf8')
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, its, code = '']) =>
    its === language ? [code] : [],
  )
}

test('the README: its example becomes what the text below it says', async () => {
  const [manifest = ''] = await blocks('README.md', 'yaml')
  const { code, stdout, stderr } = await run(['preview', '-o', 'json', '-'], { input: manifest })
  assert.equal(code, 0, stderr)
  const [{ tiers, patched }] = JSON.parse(stdout).results
  assert.deepEqual(tiers, [[{ name: 'envoy', check: 'http://:9901/ready', timeout: '1m', onTimeout: 'fail' }]])
  assert.deepEqual(
    patched.spec.containers.map(({ name }: { name: string }) => name),
    ['envoy', 'app'],
  )
  assert.equal(patched.spec.initContainers.length, 1)
})

test('rules: the configuration on the page has no problems', async () => {
  const [configuration = ''] = await blocks('docs/rules.md', 'yaml')
  await writeFile(join(folder, 'rules.yaml'), configuration)
  const { code, stdout } = await run(['config', 'rules.yaml'], { cwd: folder })
  assert.equal(code, 0, stdout)
  assert.match(stdout, /2 rules/)
})

/** The commands of the pipelines on the page, without the installation. */
async function steps(): Promise<readonly (readonly string[])[]> {
  const [github, , gitlab] = (await blocks('docs/ci.md', 'yaml')).map((code) => parse(code))
  const runs: string[][] = [
    github.jobs.preview.steps.flatMap(({ run }: { run?: string }) => (run === undefined ? [] : [run])),
    gitlab.sidecars.script,
  ]
  return runs.map((commands) => commands.filter((command) => !command.startsWith('npm ')))
}

test("the pipelines pass good manifests and stop a sidecar that isn't waited for", async () => {
  await mkdir(join(folder, 'k8s'))
  const pod = (probe: string) => `kind: Pod
metadata: {name: web, annotations: {sidecar-first.dev/sidecars: proxy}}
spec: {containers: [{name: app}, {name: proxy${probe}}]}
`
  for (const [probe, expected] of [
    [', readinessProbe: {tcpSocket: {port: 1}}', 0],
    ['', 1],
  ] as const) {
    await writeFile(join(folder, 'k8s/pod.yaml'), pod(probe))
    const pipelines = await steps()
    assert.deepEqual(
      pipelines.map(({ length }) => length),
      [1, 2],
    )
    for (const commands of pipelines) {
      const { code, stdout } = await paste(commands.join('\n'), folder, { GITHUB_WORKSPACE: folder })
      assert.equal(code, expected, commands.join())
      if (expected === 1)
        assert.match(stdout, /^::warning file=k8s\/pod\.yaml,line=3,|\n {2}! SF204 proxy is started first/)
    }
  }
  assert.match(await readFile(join(folder, 'sidecars.diff'), 'utf8'), /^--- k8s\/pod\.yaml\n/)
})
