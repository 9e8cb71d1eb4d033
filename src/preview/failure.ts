import type { Code } from '../admission/words/values.ts'
import { type Refused, type RequestFault, type RequestFaultKind, requestFaults } from '../requests/faults.ts'

export const json = 'application/json'
export const jsonPatch = 'application/json-patch+json'
export const yaml = 'application/yaml'
/** What can be answered; the first is preferred. YAML has names older than its registered one. */
export const offered = [json, jsonPatch, yaml, 'text/yaml', 'application/x-yaml', 'text/x-yaml'] as const
export type Offered = (typeof offered)[number]

/** What the server sends for a preview. */
export interface Answer {
  readonly status: 200 | RequestFault['status']
  readonly contentType: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string | string[]>>
}

/** A mistake in what was sent, and where. */
export interface Mistake {
  readonly source: 'manifests' | 'configuration'
  readonly code: Code
  readonly text: string
  /** Both count from 1. */
  readonly line: number
  readonly column: number
}

/** An answer in the one shape that errors have. */
export function failure(
  kind: RequestFaultKind,
  error: string,
  problems: readonly string[] = [],
  mistakes: readonly Mistake[] = [],
): Answer {
  const { code, status } = requestFaults[kind]
  const body = { code, error, problems, ...(mistakes.length > 0 && { mistakes }) } satisfies Refused
  return { status, contentType: json, body: JSON.stringify(body) }
}
