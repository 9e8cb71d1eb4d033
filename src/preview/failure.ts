/** What the server sends for a preview. */
export interface Answer {
  readonly status: 200 | 400 | 406 | 413 | 415 | 422 | 429 | 500 | 503
  readonly contentType: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string | string[]>>
}

/** An answer in the one shape that errors have. */
export function failure(status: Answer['status'], error: string, problems: readonly string[] = []): Answer {
  return { status, contentType: 'application/json', body: JSON.stringify({ error, problems }) }
}
