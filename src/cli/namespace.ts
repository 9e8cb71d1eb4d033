import { quote } from '../admission/quote.ts'
import { UsageError } from './command.ts'

/** Others live there: made ours, they would be held to PodSecurity "restricted", and removed by an uninstall. */
const reserved = ['default', 'kube-system', 'kube-public', 'kube-node-lease']

/** Whether a namespace can have that name. @throws UsageError */
export function checkNamespaceName(name: string): void {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) {
    throw new UsageError('--namespace takes the name of a namespace: a-z, 0-9 and -, at most 63')
  }
}

/** Whether a namespace can be sidecar-first's own. @throws UsageError */
export function checkNamespace(name: string): void {
  checkNamespaceName(name)
  if (reserved.includes(name))
    throw new UsageError(`--namespace takes a namespace of sidecar-first's own, not ${quote(name)}`)
}
