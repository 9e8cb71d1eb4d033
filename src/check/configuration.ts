import { type Finding, ok, problem, warning } from './finding.ts'
import { type Check, type Installed, needed } from './site.ts'

/** Whether the ConfigMap that the replicas mount holds a configuration, and a valid one. */
export const configuration: Check = {
  name: 'configuration',
  run: async ({ namespace, installed }) => judgeConfiguration(needed(installed.configuration), namespace),
}

type Live = Extract<Installed['configuration'], { ok: true }>['value']

export function judgeConfiguration(live: Live, namespace: string): readonly Finding[] {
  const name = `ConfigMap ${namespace}/sidecar-first`
  if (live === undefined) {
    return [problem(`${name} with config.yaml is not there: replicas can't start`, 'install sidecar-first again')]
  }
  const { read } = live
  const mend = `kubectl edit configmap -n ${namespace} sidecar-first`
  if (!read.ok) {
    return read.problems.map(({ line, column, message }) =>
      problem(`config.yaml:${line}:${column}: ${message}; replicas keep the last good one, new ones don't start`, mend),
    )
  }
  const { mode, rules } = read.configuration
  const count = `${rules.rules.length} ${rules.rules.length === 1 ? 'rule' : 'rules'}`
  const notices = read.notices.map(({ line, column, message }) =>
    warning(`config.yaml:${line}:${column}: ${message}`, mend),
  )
  if (mode === 'observe') {
    const what = 'mode: observe, so no pod is patched; warnings say what would be done'
    return [...notices, warning(what, `set mode: enforce to have pods patched: ${mend}`)]
  }
  return notices.length > 0 ? notices : [ok(`valid, ${count}`)]
}
