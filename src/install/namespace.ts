import { quote } from '../admission/words/quote.ts'
import { UsageError } from '../terminal/command.ts'
import { namespaceName } from '../terminal/flag.ts'

/** Others use these: as ours, they would get PodSecurity "restricted" and be removed by an uninstall. */
const reserved = ['default', 'kube-system', 'kube-public', 'kube-node-lease']

/** @throws UsageError if a namespace can't belong to sidecar-first */
export function ownNamespace(flag: string, text: string): string {
  const name = namespaceName(flag, text)
  if (!reserved.includes(name)) return name
  throw new UsageError('flag-value', `${flag} takes a namespace of sidecar-first's own, not ${quote(name)}`)
}
