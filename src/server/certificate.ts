import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSecureContext } from 'node:tls'
import { checkServerPair, type Fault, readCertificate, splitBundle } from '../../certs/faults.ts'
import { ExpectedError } from '../terminal/command.ts'
import { oneAtATime } from './one-at-a-time.ts'

/** Where TLS material comes from: a pair of files or one made in memory, and a file with the CAs of clients. */
export interface Sources {
  readonly pair: { readonly cert: string; readonly key: string } | { readonly made: Pair }
  readonly clientCa: string | undefined
}
interface Pair {
  readonly certificate: string
  readonly key: string
}

/** What is served: all PEM. */
export interface Material extends Pair {
  readonly clientCa: string | undefined
}
interface Loaded {
  readonly material: Material
  readonly problems: readonly { readonly fault: Fault | 'refused'; readonly message: string }[]
}

/** The certificate, key or CA can't be served; the message is for the user. */
class CertificateError extends ExpectedError {}

/** What is served now, and a way to read the files again. */
export interface Certificate {
  readonly material: Material
  readonly leaf: X509Certificate
  /** Reads the files again. A good new pair is taken; a bad one is reported, and the current one stays. */
  refresh(): Promise<readonly string[]>
}

export interface CertificateEvents {
  readonly now: () => Date
  readonly swapped: (material: Material) => void
  /** Called once for each bad version of the files. */
  readonly rejected: (problems: readonly string[]) => void
}

/**
 * Reads the material to serve. At the start only, a certificate that isn't valid at this time is accepted as well: once it is replaced,
 * the server picks up the new one at once instead of sitting in a crash loop. Until then it isn't ready.
 * @throws CertificateError
 */
export async function openCertificate(sources: Sources, events: CertificateEvents): Promise<Certificate> {
  const { material: first, problems } = await load(sources, events.now())
  const fatal = problems.filter(({ fault }) => fault !== 'expired' && fault !== 'not-yet-valid')
  if (fatal.length > 0) throw new CertificateError('bad-certificate', fatal.map(({ message }) => message).join('; '))
  let material = first
  let leaf = new X509Certificate(material.certificate)
  let reported = ''

  async function look(): Promise<readonly string[]> {
    let loaded = await attempt()
    // The files may be half-written, or may have been swapped between two reads.
    if (loaded.problems.length > 0) {
      await sleep(100)
      loaded = await attempt()
    }
    if (loaded.material && same(loaded.material, material)) {
      reported = ''
      return loaded.problems
    }
    if (loaded.material && loaded.problems.length === 0) {
      material = loaded.material
      leaf = new X509Certificate(material.certificate)
      reported = ''
      events.swapped(material)
      return []
    }
    const version = JSON.stringify([loaded.problems, loaded.material?.certificate])
    if (version !== reported) events.rejected(loaded.problems)
    reported = version
    return loaded.problems
  }

  async function attempt(): Promise<{ material: Material | undefined; problems: readonly string[] }> {
    try {
      const loaded = await load(sources, events.now())
      return { material: loaded.material, problems: loaded.problems.map(({ message }) => message) }
    } catch (error) {
      if (error instanceof CertificateError) return { material: undefined, problems: [error.message] }
      throw error
    }
  }

  return {
    get material() {
      return material
    },
    get leaf() {
      return leaf
    },
    refresh: oneAtATime(look),
  }
}

async function load({ pair, clientCa: clientCaFile }: Sources, at: Date): Promise<Loaded> {
  const files = 'made' in pair ? undefined : pair
  // One after the other, so that the same file is always reported first.
  const certificate = 'made' in pair ? pair.made.certificate : await read('--cert', pair.cert)
  const key = 'made' in pair ? pair.made.key : await read('--key', pair.key)
  const clientCa = clientCaFile === undefined ? undefined : await read('--client-ca', clientCaFile)
  const material: Material = { certificate, key, clientCa }
  const problems: Loaded['problems'][number][] = checkServerPair({ certificate, key, at }).map((problem) => ({
    ...problem,
    message: files ? `${files.cert}, ${files.key}: ${problem.message}` : problem.message,
  }))
  if (clientCa !== undefined) {
    const authorities = splitBundle(clientCa)
    if (authorities.length === 0 || !authorities.every(readCertificate)) {
      problems.push({ fault: 'refused', message: `${clientCaFile}: no CA certificates that can be read (PEM)` })
    }
  }
  if (problems.length === 0) {
    try {
      createSecureContext({ cert: certificate, key, ca: clientCa })
    } catch (error) {
      problems.push({ fault: 'refused', message: `TLS refuses the certificate: ${(error as Error).message}` })
    }
  }
  return { material, problems }
}

async function read(flag: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new CertificateError(
      'bad-certificate',
      `${flag} ${path} can't be read: ${(error as NodeJS.ErrnoException).code}`,
    )
  }
}

const same = (a: Material, b: Material) =>
  a.certificate === b.certificate && a.key === b.key && a.clientCa === b.clientCa
