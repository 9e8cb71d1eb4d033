import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from '../terminal/command.ts'
import type { Cluster } from './cluster.ts'

/** A shell waits for this at each Tab, in ms. */
const patience = 2000
/** More than anybody looks through. */
const most = 500

interface Known {
  readonly [name: string]: { readonly summary: string; readonly load: () => Promise<Command> }
}

/** What may stand at a place. */
type Place =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  /** The shell knows them better. */
  | { readonly kind: 'files' }
  | { readonly kind: 'contexts' | 'namespaces' | 'pods'; readonly given: ReadonlyMap<string, string> }

/**
 * What `__complete` prints for the words behind the program's name, of which the last is being typed: a candidate a line (what it is stands behind a
 * tab), then `:4`, or `:0` where files may follow. That is Cobra's protocol, which kubectl expects of a plugin. Never throws: a Tab is no
 * place for an error.
 */
export async function complete(
  words: readonly string[],
  commands: Known,
  cluster: () => Promise<Cluster>,
  wait = patience,
): Promise<string> {
  const typed = words.at(-1) ?? ''
  const late = sleep(wait, [], { ref: false })
  const found = await Promise.race([candidates(words.slice(0, -1), typed, commands, cluster), late]).catch(() => [])
  if (found === 'files') return ':0\n'
  const fitting = found.filter((each) => each.startsWith(typed) && isHarmless(each)).slice(0, most)
  return `${fitting.map((each) => `${each}\n`).join('')}:4\n`
}

/** It is typed into a shell as it is: somebody else has named the contexts of a kubeconfig. */
const isHarmless = (candidate: string): boolean => /^[\w@%+=:,./*-]+(\t.*)?$/.test(candidate)

async function candidates(
  before: readonly string[],
  typed: string,
  commands: Known,
  cluster: () => Promise<Cluster>,
): Promise<readonly string[] | 'files'> {
  const [name, ...words] = before[0] === 'help' && before.length === 1 ? [] : before
  if (name === undefined) {
    const all = Object.entries(commands).map(([each, { summary }]) => `${each}\t${summary}`)
    return [...all, '--help', '--version']
  }
  const command = Object.hasOwn(commands, name) ? await commands[name]?.load() : undefined
  if (command === undefined) return []
  const [, flag] = /^--([^=]+)=/.exec(typed) ?? []
  const place = placeOf(command, words, flag === undefined ? typed : '', flag)
  const found = await at(place, cluster)
  return flag === undefined || found === 'files' ? found : found.map((each) => `--${flag}=${each}`)
}

async function at(place: Place, cluster: () => Promise<Cluster>): Promise<readonly string[] | 'files'> {
  if (place.kind === 'words') return place.words
  if (place.kind === 'files') return 'files'
  const { kind, given } = place
  return await (await cluster())[kind]({ context: given.get('context'), namespace: given.get('namespace') })
}

/** @param flag whose value is being typed in one word with it */
function placeOf(
  { options, choices = {}, names }: Command,
  words: readonly string[],
  typed: string,
  flag?: string,
): Place {
  const byShort = new Map(
    Object.entries(options).flatMap(([long, { short }]) => (short ? [[short, long] as const] : [])),
  )
  const given = new Map<string, string>()
  const positionals: string[] = []
  let open: string | undefined
  for (const word of words) {
    const [, long, value] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? []
    const name = long ?? (/^-\w$/.test(word) ? byShort.get(word.slice(1)) : undefined)
    if (open !== undefined) {
      given.set(open, word)
      open = undefined
    } else if (name === undefined) positionals.push(word)
    else if (value !== undefined) given.set(name, value)
    else if (options[name]?.type === 'string') open = name
  }
  const valued = flag ?? open
  if (valued !== undefined) return valuePlace(valued, choices, given)
  if (typed.startsWith('-')) {
    const flags = Object.keys(options).filter((each) => options[each]?.multiple || !given.has(each))
    return { kind: 'words', words: [...flags.map((each) => `--${each}`), '--help'] }
  }
  if (names === 'pods') return positionals.length === 0 ? { kind: 'pods', given } : nothing
  if (names === 'files') return { kind: 'files' }
  return positionals.length === 0 && names !== undefined ? { kind: 'words', words: names } : nothing
}

const nothing: Place = { kind: 'words', words: [] }

function valuePlace(flag: string, choices: NonNullable<Command['choices']>, given: ReadonlyMap<string, string>): Place {
  const known = choices[flag]
  if (known !== undefined) return { kind: 'words', words: known }
  switch (flag) {
    case 'context':
      return { kind: 'contexts', given }
    case 'namespace':
      return { kind: 'namespaces', given }
    case 'filename':
    case 'config':
    case 'cert':
    case 'key':
    case 'client-ca':
    case 'dir':
      return { kind: 'files' }
    default:
      return nothing
  }
}
