import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Known } from '../commands.ts'
import type { Command } from '../terminal/command.ts'
import type { Cluster } from './cluster.ts'

/** A shell waits for this at each Tab, in ms. */
const patience = 2000
/** More than anybody looks through. */
const most = 500

/** Candidates, or files, which the shell knows better. */
type Found = readonly string[] | 'files'

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
): Promise<Found> {
  const [name, ...words] = before[0] === 'help' && before.length === 1 ? [] : before
  if (name === undefined) {
    const all = Object.entries(commands).map(([each, { summary }]) => `${each}\t${summary}`)
    return [...all, '--help', '--version']
  }
  const command = Object.hasOwn(commands, name) ? await commands[name]?.load() : undefined
  if (command === undefined) return []
  const [, flag] = /^--([^=]+)=/.exec(typed) ?? []
  const found = await candidatesOf(command, words, flag === undefined ? typed : '', flag, cluster)
  return flag === undefined || found === 'files' ? found : found.map((each) => `--${flag}=${each}`)
}

/** @param flag whose value is being typed in one word with it */
async function candidatesOf(
  { options, names }: Command,
  words: readonly string[],
  typed: string,
  flag: string | undefined,
  cluster: () => Promise<Cluster>,
): Promise<Found> {
  const { tokens } = parseArgs({ args: [...words], options, strict: false, allowPositionals: true, tokens: true })
  const given = new Map(tokens.flatMap((token) => (token.kind === 'option' ? [[token.name, token.value]] : [])))
  const ask = async (what: keyof Cluster) =>
    await (await cluster())[what]({ context: given.get('context'), namespace: given.get('namespace') })
  const last = tokens.at(-1)
  const isOpen = last?.kind === 'option' && last.value === undefined && options[last.name]?.type === 'string'
  const valued = flag ?? (isOpen ? last.name : undefined)
  switch (valued) {
    case undefined:
      break
    case 'context':
      return await ask('contexts')
    case 'namespace':
      return await ask('namespaces')
    case 'filename':
    case 'config':
    case 'cert':
    case 'key':
    case 'client-ca':
    case 'dir':
    case 'fix':
      return 'files'
    default:
      return options[valued]?.choices ?? []
  }
  if (typed.startsWith('-')) {
    const flags = Object.keys(options).filter((each) => options[each]?.multiple || !given.has(each))
    return [...flags.map((each) => `--${each}`), '--help']
  }
  if (names === 'files') return 'files'
  if (names === undefined || tokens.some(({ kind }) => kind === 'positional')) return []
  return names === 'pods' ? await ask('pods') : names
}
