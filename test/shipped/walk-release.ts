/**
 * node test/shipped/walk-release.ts: walks through .github/workflows/release.yml in a clean clone of the last commit. Each `run:` block is run as it
 * stands, in order, with a registry on loopback; each `uses:` is looked at as far as it names files, outputs and digests. What would reach out has a
 * stand-in that says what it was asked for: apt-get, cosign, gh, and npm for publishing. By hand: it makes two releases, as the workflow does.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'yaml'
import manifest from '../../package.json' with { type: 'json' }
import { freePort } from '../free-port.ts'

interface Step {
  readonly id?: string
  readonly uses?: string
  readonly run?: string
  readonly env?: Record<string, string>
  readonly with?: Record<string, string | number | boolean>
}
interface Job {
  readonly needs?: string | readonly string[]
  readonly env?: Record<string, string>
  readonly outputs?: Record<string, string>
  readonly steps: readonly Step[]
}

const root = join(import.meta.dirname, '../..')
const { jobs } = parse(readFileSync(join(root, '.github/workflows/release.yml'), 'utf8')) as {
  jobs: Record<string, Job>
}
const work = mkdtempSync(join(tmpdir(), 'sidecar-first-walk-'))
const registry = `127.0.0.1:${await freePort()}`
const github: Record<string, string> = {
  repository: 'owner/sidecar-first',
  ref_name: `v${manifest.version}`,
  actor: 'owner',
  token: 'not-a-token',
}
const crane = execFileSync('go', ['-C', join(root, 'scripts/crane'), 'tool', '-n', 'crane'], {
  encoding: 'utf8',
}).trim()

/** The registry speaks plain HTTP, and Helm wants to be told. */
const replaced: readonly (readonly [string, string])[] = [['"$helm" push ', '"$helm" push --plain-http ']]

const standIns: Readonly<Record<string, string>> = {
  'apt-get': 'echo "apt-get $*"',
  // An image that isn't there can't be signed.
  cosign: `[ "$1 $2" = "sign --yes" ]; shift 2; for image; do ${crane} validate --remote "$image"; done`,
  gh: '[ "$1 $2" = "release create" ]; shift 3; for file; do case $file in --*) ;; *) test -s "$file" ;; esac; done; echo "gh would publish $*"',
  npm: `[ "$1" != publish ] || { shift; exec "$NPM" publish --dry-run "\${@/--provenance/--quiet}"; }; exec "$NPM" "$@"`,
}
const bin = join(work, 'bin')
mkdirSync(bin)
for (const [name, script] of Object.entries(standIns)) {
  // scripts/release has an apt of its own, with options in front.
  const own = name === 'apt-get' ? 'case $1 in -qq) exec /usr/bin/apt-get "$@" ;; esac\n' : ''
  writeFileSync(join(bin, name), `#!/usr/bin/env bash\nset -euo pipefail\n${own}${script}\n`)
  chmodSync(join(bin, name), 0o755)
}
const npm = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim()

const outputs = new Map<string, Record<string, string>>()
/** What `${{ … }}` stands for. @throws of one that nothing has set */
function filled(text: string, env: Record<string, string>): string {
  return text
    .replaceAll(`ghcr.io/\${{ github.repository }}`, `${registry}/owner/sidecar-first`)
    .replaceAll(/\$\{\{ (.+?) \}\}/g, (_, expression: string) => {
      const [kind = '', one = '', , last = ''] = expression.split('.')
      const found = kind === 'github' ? github[one] : kind === 'env' ? env[one] : outputs.get(`${kind}.${one}`)?.[last]
      assert.ok(found, `nothing has set ${expression}`)
      return found
    })
}

function look({ uses = '', with: given = {} }: Step, env: Record<string, string>, folder: string): void {
  const action = uses.slice(0, uses.indexOf('@'))
  const value = (key: string) => (given[key] === undefined ? undefined : filled(String(given[key]), env))
  const needsFile = (path: string | undefined) => path === undefined || assert.ok(existsSync(join(folder, path)), path)
  console.log(`  uses ${action}`)
  switch (action) {
    case 'actions/checkout':
      execFileSync('git', ['clone', '-q', root, folder])
      break
    case 'actions/upload-artifact':
      needsFile(value('path'))
      cpSync(join(folder, value('path') ?? ''), join(work, `artifact-${value('name')}`), { recursive: true })
      break
    case 'actions/download-artifact':
      cpSync(join(work, `artifact-${value('name')}`), join(folder, value('path') ?? ''), { recursive: true })
      break
    case 'actions/attest': {
      const [name, digest] = [value('subject-name'), value('subject-digest')]
      if (name !== undefined) execFileSync(crane, ['digest', `${name}@${digest}`])
      for (const key of ['sbom-path', 'subject-checksums']) needsFile(value(key))
      break
    }
    case 'actions/setup-node':
    case 'actions/setup-go':
    case 'sigstore/cosign-installer':
      break
    default:
      throw new Error(`${action} is unknown here`)
  }
}

const served = spawn(crane, ['registry', 'serve', '--address', registry], { stdio: 'ignore' })
try {
  await sleep(1000)
  for (const [name, job] of Object.entries(jobs)) {
    console.log(name)
    const folder = join(work, `job-${name}`)
    mkdirSync(folder)
    const ofJob = Object.fromEntries(Object.entries(job.env ?? {}).map(([key, text]) => [key, filled(text, {})]))
    for (const step of job.steps) {
      if (step.uses !== undefined) {
        look(step, ofJob, folder)
        continue
      }
      const own = Object.fromEntries(Object.entries(step.env ?? {}).map(([key, text]) => [key, filled(text, ofJob)]))
      const script = replaced.reduce((text, [from, to]) => text.replaceAll(from, to), step.run ?? '')
      const [first = ''] = script.split('\n')
      console.log(`  run ${first}`)
      const output = join(work, 'output')
      writeFileSync(output, '')
      const temp = join(work, 'temp')
      mkdirSync(temp, { recursive: true })
      execFileSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
        cwd: folder,
        stdio: 'inherit',
        env: {
          ...process.env,
          ...ofJob,
          ...own,
          NPM: npm,
          PATH: `${bin}:${process.env.PATH}`,
          DOCKER_CONFIG: join(work, 'docker'),
          RUNNER_TEMP: temp,
          GITHUB_OUTPUT: output,
          GITHUB_REF_NAME: github.ref_name,
        },
      })
      const lines = readFileSync(output, 'utf8').split('\n').filter(Boolean)
      const set = lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const)
      if (step.id !== undefined) outputs.set(`steps.${step.id}`, Object.fromEntries(set))
    }
    const told = Object.entries(job.outputs ?? {}).map(([key, text]) => [key, filled(text, ofJob)])
    outputs.set(`needs.${name}`, Object.fromEntries(told))
    for (const key of outputs.keys()) if (key.startsWith('steps.')) outputs.delete(key)
  }
  console.log('every step has ended well')
} finally {
  served.kill()
  rmSync(work, { recursive: true, force: true })
}
