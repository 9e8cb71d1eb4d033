import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { KubeConfig } from '@kubernetes/client-node'
import { issueAuthority, issueLeaf } from '../../certs/x509.ts'
import { freePort } from '../free-port.ts'

/** Who asks: an administrator, or the service account of `certs run` with nothing but its own rights. */
type User = 'admin' | 'certs'

export interface ApiServer {
  readonly url: string
  /** PEM of the CA that signed the API server's certificate, and its own pair. */
  readonly ca: string
  readonly pair: { certificate: string; key: string }
  kubeconfig(user: User, server?: string): KubeConfig
  /** Path of a kubeconfig file. */
  kubeconfigFile(user: User, server?: string): string
  kubectl(args: readonly string[], input?: string): Promise<string>
  /** All that it prints, warnings too. */
  said(args: readonly string[], input?: string): Promise<string>
  stop(): Promise<void>
}

const tokens: Record<User, string> = { admin: 'admin-token', certs: 'certs-token' }
const programs = (process.env.APISERVER_PROGRAMS ?? '').split(':')

/** A real etcd and API server in a temporary folder. `flags`: more of the API server's. */
export async function startApiServer(flags: readonly string[] = []): Promise<ApiServer> {
  const dir = mkdtempSync(join(tmpdir(), 'sidecar-first-apiserver-'))
  const file = (name: string, text?: string) => {
    const path = join(dir, name)
    if (text !== undefined) writeFileSync(path, text, { mode: 0o600 })
    return path
  }
  const at = new Date()
  const authority = await issueAuthority({ commonName: 'test API server CA', life: 86_400_000, at })
  const pair = await issueLeaf({ authority, names: ['localhost'], ips: ['127.0.0.1'], life: 86_400_000, at })
  const account = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  file('ca.crt', authority.certificate)
  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()]
  const children: ChildProcess[] = []
  const start = (name: string, args: string[]) => {
    const log = openSync(file(`${name}.log`), 'w')
    children.push(spawn(program(name), args, { stdio: ['ignore', log, log] }))
    closeSync(log)
  }
  const etcd = `http://127.0.0.1:${etcdPort}`
  const peer = `http://127.0.0.1:${peerPort}`
  start('etcd', [
    `--data-dir=${file('etcd')}`,
    `--listen-client-urls=${etcd}`,
    `--advertise-client-urls=${etcd}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    '--unsafe-no-fsync',
  ])
  start('kube-apiserver', [
    ...flags,
    `--etcd-servers=${etcd}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    '--advertise-address=10.99.0.1',
    '--endpoint-reconciler-type=none',
    '--service-cluster-ip-range=10.97.0.0/24',
    `--tls-cert-file=${file('apiserver.crt', pair.certificate)}`,
    `--tls-private-key-file=${file('apiserver.key', pair.key)}`,
    `--token-auth-file=${file('tokens.csv', tokenFile)}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${file('sa.pub', account.publicKey)}`,
    `--service-account-signing-key-file=${file('sa.key', account.privateKey)}`,
    // No controllers run here: nobody would make the service accounts that pods must name.
    '--disable-admission-plugins=ServiceAccount',
    // The API server calls a webhook's endpoints itself, there is no kube-proxy.
    '--enable-aggregator-routing=true',
  ])
  const url = `https://127.0.0.1:${port}`

  const kubeconfig = (user: User, server = url) => {
    const config = new KubeConfig()
    config.loadFromClusterAndUser(
      { name: 'test', server, caData: Buffer.from(authority.certificate).toString('base64'), skipTLSVerify: false },
      { name: user, token: tokens[user] },
    )
    return config
  }
  const kubeconfigFile = (user: User, server = url) =>
    file(`${user}-${new URL(server).port}.kubeconfig`, kubeconfig(user, server).exportConfig())
  const admin = kubeconfigFile('admin')
  const server: ApiServer = {
    url,
    ca: authority.certificate,
    pair,
    kubeconfig,
    kubeconfigFile,
    kubectl: (args, input) => run(program('kubectl'), [`--kubeconfig=${admin}`, ...args], input),
    said: (args, input) =>
      said(program('kubectl'), [`--kubeconfig=${admin}`, ...args], input).then(({ out, err }) => err + out),
    async stop() {
      for (const child of children.reverse()) {
        if (child.exitCode === null && child.signalCode === null) {
          child.kill('SIGKILL')
          await once(child, 'exit')
        }
      }
      rmSync(dir, { recursive: true, force: true })
    },
  }
  try {
    await ready(server, children)
    return server
  } catch (error) {
    const log = readFileSync(file('kube-apiserver.log'), 'utf8').split('\n').slice(-15).join('\n')
    await server.stop()
    throw new Error(`the API server did not start:\n${log}`, { cause: error })
  }
}

const tokenFile = `${tokens.admin},admin,1,"system:masters"
${tokens.certs},system:serviceaccount:sidecar-first:sidecar-first-certs,2,"system:serviceaccounts,system:serviceaccounts:sidecar-first"
`

async function ready(server: ApiServer, children: readonly ChildProcess[]) {
  for (let i = 0; i < 960; i++) {
    if (children.some((child) => child.exitCode !== null)) throw new Error('etcd or the API server ended')
    const answer = await server.kubectl(['get', '--raw', '/readyz']).catch(() => '')
    if (answer === 'ok') return
    await sleep(250)
  }
  throw new Error('not ready within four minutes')
}

function program(name: string): string {
  const found = programs.map((dir) => join(dir, name)).find((path) => existsSync(path))
  if (!found) throw new Error(`${name} is not there; start these tests with test/apiserver/run`)
  return found
}

/** A program's standard output; its standard error in the failure. */
export const run = async (command: string, args: readonly string[], input?: string): Promise<string> =>
  (await said(command, args, input)).out

async function said(command: string, args: readonly string[], input = ''): Promise<{ out: string; err: string }> {
  const child = spawn(command, args, { stdio: 'pipe' })
  let out = ''
  let err = ''
  child.stdout.on('data', (chunk) => (out += chunk))
  child.stderr.on('data', (chunk) => (err += chunk))
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${args.join(' ')}: ${err}`)
  return { out, err }
}
