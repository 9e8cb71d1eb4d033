import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { run } from '../../cli/process.ts'

const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-'))
after(() => rm(folder, { recursive: true }))

const pod = (sidecars: string) => `
kind: Pod
metadata: {name: web, annotations: {sidecar-first.dev/sidecars: ${sidecars}}}
spec:
  containers: [{name: app}, {name: proxy, readinessProbe: {tcpSocket: {port: 1}}}, {name: bare}]
`

test('-o github: errors, warnings and notices with file, line and title, all escaped', async () => {
  const odd = join(folder, 'a,b:c%')
  await mkdir(odd)
  await writeFile(join(odd, 'pods.yaml'), `kind: Secret\n---${pod('proxy')}---${pod('bare')}---${pod('"a,,100%"')}`)
  await writeFile(join(folder, 'broken.yaml'), 'kind: Pod\n---\nkind: Pod\na: 1\na: 2\n')
  const { code, stdout, stderr } = await run(['preview', '-o', 'github', folder], {
    cwd: odd,
    env: { GITHUB_WORKSPACE: folder },
  })
  assert.equal(code, 1)
  assert.match(stderr, /^SF680 for Kubernetes .*\n$/)
  const file = 'file=a%2Cb%3Ac%25/pods.yaml'
  const expected = [
    /^::error file=broken\.yaml,line=5,col=1,title=SF409 document 2::the key "a" is there twice$/,
    new RegExp(`^::notice ${file},line=4,col=37,title=SF219 Pod web::the waiter adds an emptyDir: .*$`),
    new RegExp(`^::warning ${file},line=11,col=85,title=SF204 Pod web::bare is started first but not waited for: .*$`),
    new RegExp(
      `^::error ${file},line=14,col=37,title=SF\\d{3} Pod web::sidecar-first\\.dev/sidecars: .*"a,,100%25".*$`,
    ),
    /^2 patched, 1 refused, 1 skipped$/,
    /^$/,
  ]
  const lines = stdout.split('\n')
  assert.equal(lines.length, expected.length, stdout)
  for (const [index, line] of lines.entries()) assert.match(line, expected[index] ?? /never/)
})

test('-o github of standard input has no file to point at, and --fail-on decides', async () => {
  const warned = await run(['preview', '-o', 'github', '--fail-on', 'warning'], { input: pod('bare') })
  assert.match(warned.stdout, /^::warning line=5,col=85,title=SF204 Pod web::bare /)
  assert.equal(warned.code, 1)
})

test('-o sarif: unreadable files and refusals are in it, and nothing else is said', async () => {
  const checkout = join(folder, 'scanned')
  await mkdir(join(checkout, 'k8s'), { recursive: true })
  await writeFile(join(checkout, 'k8s/pods.yaml'), pod('"a,,b"'))
  await writeFile(join(checkout, 'broken.yaml'), 'kind: Pod\na: 1\na: 2\n')
  const { code, stdout, stderr } = await run(['preview', '-o', 'sarif', 'k8s', 'broken.yaml'], {
    cwd: checkout,
    env: { GITHUB_WORKSPACE: '' },
  })
  assert.deepEqual([code, stderr], [1, ''])
  type Result = { ruleId: string; locations: { physicalLocation: { artifactLocation: { uri: string } } }[] }
  const results: Result[] = JSON.parse(stdout).runs[0].results
  const places = results.map(({ ruleId, locations }) => [ruleId, locations[0]?.physicalLocation.artifactLocation.uri])
  assert.deepEqual(places, [
    ['SF409', 'broken.yaml'],
    ['SF112', 'k8s/pods.yaml'],
  ])
})
