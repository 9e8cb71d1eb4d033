import type { Finding } from '../findings.ts'
import { type Check, type Installed, needed } from '../site.ts'

/** Whether the ConfigMap that the replicas mount holds a configuration, and a valid one. */
export const configuration: Check = {
  name: 'configuration',
  run: async ({ namespace, installed }) => judgeConfiguration(needed(installed.configuration), namespace),
}

type Live = Extract<Installed['configuration'], { ok: true }>['value']

export function judgeConfiguration(live: Live, namespace: string): readonly Finding[] {
  if (live === undefined) return [{ kind: 'configuration-missing', namespace }]
  const { read } = live
  if (!read.ok) return read.problems.map((remark) => ({ kind: 'configuration-invalid', namespace, remark }))
  const { mode, rules } = read.configuration
  const notices = read.notices.map((remark): Finding => ({ kind: 'configuration-notice', namespace, remark }))
  if (mode === 'observe') return [...notices, { kind: 'configuration-observes', namespace }]
  return notices.length > 0 ? notices : [{ kind: 'configuration-valid', rules: rules.rules.length }]
}
