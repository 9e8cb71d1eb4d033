import { quote } from '../admission/words/quote.ts'
import { UsageError } from '../terminal/command.ts'

/** Others use these: as ours, they would get PodSecurity "restricted" and be removed by an uninstall. */
const reserved = ['default', 'kube-system', 'kube-public', 'kube-node-lease']

/** @throws UsageError if a namespace can't have that name */
export function checkNamespaceName(name: string): void {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) {
    throw new UsageError('flag-value', '--namespace takes the name of a namespace: a-z, 0-9 and -, at most 63')
  }
}

/** @throws UsageError if a namespace can't belong to sidecar-first */
export function checkNamespace(name: string): void {
  checkNamespaceName(name)
  if (reserved.includes(name))
    throw new UsageError('flag-value', `--namespace takes a namespace of sidecar-first's own, not ${quote(name)}`)
}
