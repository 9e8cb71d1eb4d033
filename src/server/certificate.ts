import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSecureContext } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import { checkServerPair, type Fault, type Pair, readCertificate, splitBundle } from '../../certs/faults.ts'
import { ExpectedError } from '../terminal/command.ts'
import { oneAtATime } from './one-at-a-time.ts'

/** Where TLS material comes from: a pair of files or one made in memory, and a file with the CAs of clients. */
export interface Sources {
  readonly pair: { readonly cert: string; readonly key: string } | { readonly made: Pair }
  readonly clientCa: string | undefined
}

/** What is served: all PEM. */
export interface Material extends Pair {
  readonly clientCa: string | undefined
}
interface Loaded {
  /** undefined if a file can't be read. */
  readonly material?: Material
  readonly problems: readonly { readonly fault: Fault | 'refused'; readonly message: string }[]
}

interface Events {
  readonly swapped: (material: Material) => void
  /** Called once for each bad version of the files. */
  readonly rejected: (problems: readonly string[]) => void
}

/** What is served now, and a way to read the files again. */
export type Certificate = Awaited<ReturnType<typeof openCertificate>>

/**
 * Reads the material to serve. At the start only, a certificate that isn't valid at this time is accepted as well: once it is replaced,
 * the server picks up the new one at once instead of sitting in a crash loop. Until then it isn't ready.
 * @throws ExpectedError that says what can't be served
 */
export async function openCertificate(sources: Sources, { swapped, rejected }: Events) {
  const first = await load(sources)
  const fatal = first.problems.filter(({ fault }) => fault !== 'expired' && fault !== 'not-yet-valid')
  if (first.material === undefined || fatal.length > 0) {
    throw new ExpectedError('bad-certificate', fatal.map(({ message }) => message).join('; '))
  }
  let { material } = first
  let reported = ''

  async function look(): Promise<readonly string[]> {
    let loaded = await load(sources)
    // The files may be half-written, or may have been swapped between two reads.
    if (loaded.problems.length > 0) {
      await sleep(100)
      loaded = await load(sources)
    }
    const problems = loaded.problems.map(({ message }) => message)
    const version = JSON.stringify([problems, loaded.material?.certificate])
    if (loaded.material && isDeepStrictEqual(loaded.material, material)) reported = ''
    else if (loaded.material && problems.length === 0) {
      material = loaded.material
      reported = ''
      swapped(material)
    } else {
      if (version !== reported) rejected(problems)
      reported = version
    }
    return problems
  }

  return {
    get material() {
      return material
    },
    get leaf() {
      return new X509Certificate(material.certificate)
    },
    /** Reads the files again. A good new pair is taken; a bad one is reported, and the current one stays. */
    refresh: oneAtATime(look),
  }
}

async function load(sources: Sources): Promise<Loaded> {
  try {
    const material = await readMaterial(sources)
    return { material, problems: problemsOf(material, sources) }
  } catch (error) {
    return { problems: [{ fault: 'refused', message: (error as Error).message }] }
  }
}

async function readMaterial({ pair, clientCa }: Sources): Promise<Material> {
  // One after the other, so that the same file is always reported first.
  const { certificate, key } =
    'made' in pair ? pair.made : { certificate: await read('--cert', pair.cert), key: await read('--key', pair.key) }
  return { certificate, key, clientCa: clientCa === undefined ? undefined : await read('--client-ca', clientCa) }
}

function problemsOf({ certificate, key, clientCa }: Material, { pair, clientCa: clientCaFile }: Sources) {
  const files = 'made' in pair ? '' : `${pair.cert}, ${pair.key}: `
  const problems: Loaded['problems'][number][] = checkServerPair({ certificate, key, at: new Date() }).map(
    ({ fault, message }) => ({ fault, message: files + message }),
  )
  if (clientCa !== undefined) {
    const authorities = splitBundle(clientCa)
    if (authorities.length === 0 || !authorities.every(readCertificate)) {
      problems.push({ fault: 'refused', message: `${clientCaFile}: no CA certificates that can be read (PEM)` })
    }
  }
  if (problems.length > 0) return problems
  try {
    createSecureContext({ cert: certificate, key, ca: clientCa })
    return []
  } catch (error) {
    return [{ fault: 'refused' as const, message: `TLS refuses the certificate: ${(error as Error).message}` }]
  }
}

const read = (flag: string, path: string): Promise<string> =>
  readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw new Error(`${flag} ${path} can't be read: ${code}`)
  })
