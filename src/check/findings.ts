import { tell } from '../admission/words/define.ts'
import type { Code, Values } from '../admission/words/values.ts'
import { configurationFindings } from './findings/configuration.ts'
import { nodeFindings } from './findings/nodes.ts'
import { podFindings } from './findings/pod.ts'
import { podsFindings } from './findings/pods.ts'
import { replicaFindings } from './findings/replicas.ts'
import { rolloutFindings } from './findings/rollouts.ts'
import { webhookFindings } from './findings/webhooks.ts'

/** `warning`: it works, but somebody should know about it. */
export type Level = 'ok' | 'warning' | 'problem'

/** A finding as it is shown. */
export interface Told {
  readonly code: Code
  readonly level: Level
  /** One sentence, without a full stop. */
  readonly text: string
  /** What to do: a sentence, or a command to paste. */
  readonly next?: string
  /** Where in the object that was asked about: `spec.template.metadata.annotations[sidecar-first.dev/gate]`. */
  readonly path?: string
}

/** Every finding of `check`, each kind once. */
export const findings = {
  ...configurationFindings,
  ...webhookFindings,
  ...replicaFindings,
  ...nodeFindings,
  ...podsFindings,
  ...rolloutFindings,
  ...podFindings,
}
export type Finding = Values<typeof findings>

/** The words for a finding. */
export function told(finding: Finding): Told {
  const { grade: level } = findings[finding.kind]
  const { code, text, next } = tell(findings, finding)
  const path = 'path' in finding && finding.path !== '' ? finding.path : undefined
  return { code, level, text, ...(next !== undefined && { next }), ...(path !== undefined && { path }) }
}
