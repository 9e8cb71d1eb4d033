import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { paste } from './process.ts'

const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-'))
after(() => rm(folder, { recursive: true }))

/** The code of a page's blocks in a language, in order. */
async function blocks(page: string, language: string): Promise<string[]> {
  const text = await readFile(new URL(`../../docs/${page}`, import.meta.url), 'utf8')
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, its, code = '']) =>
    its === language ? [code] : [],
  )
}

test('the first ten minutes: the manifest there, previewed, gives the answer there', async () => {
  const commands = (await blocks('start.md', 'sh')).filter((code) => /^(cat|sidecar-first preview) /.test(code))
  assert.equal(commands.length, 2)
  const { code, stdout, stderr } = await paste(commands.join(''), folder)
  assert.deepEqual([code, stderr], [0, ''])
  const [answer = ''] = await blocks('start.md', 'text')
  assert.equal(stdout.slice(0, answer.length), answer)
})

/** What the pipelines on the page do of their own, beside installing. */
async function steps(): Promise<readonly (readonly string[])[]> {
  const [github, gitlab] = (await blocks('ci.md', 'yaml')).map((code) => parse(code))
  const runs: string[][] = [
    github.jobs.preview.steps.flatMap(({ run }: { run?: string }) => (run === undefined ? [] : [run])),
    gitlab.sidecars.script,
  ]
  return runs.map((commands) => commands.filter((command) => !command.startsWith('npm ')))
}

test('the pipelines pass good manifests and stop a sidecar that nobody waits for', async () => {
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
      if (expected === 1) assert.match(stdout, /^::warning file=k8s\/pod\.yaml,line=1,|\n {2}! proxy is started first/)
    }
  }
  assert.match(await readFile(join(folder, 'sidecars.diff'), 'utf8'), /^--- k8s\/pod\.yaml\n/)
})
