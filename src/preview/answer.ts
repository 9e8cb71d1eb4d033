import type { Configuration } from '../admission/configuration.ts'
import { formatJson } from './json.ts'
import { readJson, readYaml } from './manifests.ts'
import { type Preview, previewManifests, previewResult, problemLine } from './preview.ts'
import { writeManifests } from './write.ts'

/** What the server sends. */
export interface Answer {
  readonly status: 200 | 400 | 406 | 413 | 415 | 422
  readonly contentType: string
  readonly body: string
}

const json = 'application/json'
const jsonPatch = 'application/json-patch+json'
const yaml = 'application/yaml'
/** What can be answered; the first is preferred. YAML has names older than its registered one. */
const offered = [json, jsonPatch, yaml, 'text/yaml', 'application/x-yaml', 'text/x-yaml'] as const
/** What a body may be called; the form is what curl says when nobody tells it otherwise. */
const taken: ReadonlySet<string> = new Set([
  json,
  ...offered.slice(2),
  'text/plain',
  'application/x-www-form-urlencoded',
])

/** The YAML that makes most work (directives, flow lists, thousands of tiny pods) takes up to 2 s at this size, and nobody else is answered meanwhile. */
const mostYaml = 512 * 1024

/**
 * Answers `POST /preview`: a body (JSON or YAML, whatever its content type says of the two) to what is sent. `contentType` and
 * `accept` are the request's headers. Never throws.
 */
export function answerPreview(
  body: string,
  contentType: string | undefined,
  accept: string | undefined,
  configuration: Configuration,
): Answer {
  const given = (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  if (given !== '' && !taken.has(given)) {
    return failure(415, `${given} is not read here; send ${json} or ${yaml}`)
  }
  const wanted = negotiate(accept)
  if (wanted === undefined) return failure(406, `the answer can be ${json}, ${jsonPatch} or ${yaml}`)
  const manifests = readJson(body) ?? (body.length > mostYaml ? undefined : readYaml(body))
  if (manifests === undefined) {
    return failure(
      413,
      `the body is no JSON, and YAML can be ${mostYaml} characters long; send less at a time, or JSON`,
    )
  }
  const previewed = previewManifests(manifests, configuration)
  if (!previewed.ok) {
    return failure(400, 'the manifests can not be read', previewed.problems.map(problemLine))
  }
  const { previews } = previewed
  const [only] = previews
  if (only === undefined) return failure(400, 'there is no manifest in the body; send a Pod or a workload')
  if (wanted === json)
    return { status: 200, contentType: json, body: formatJson({ results: previews.map(previewResult) }) }
  const refused = previews.filter(({ decision }) => decision.verdict === 'refused')
  if (wanted === jsonPatch && previews.length > 1) {
    return failure(406, `${jsonPatch} is for one object, and here are ${previews.length}; ask for ${json}`)
  }
  if (refused.length > 0) {
    const count =
      previews.length === 1
        ? 'the object is refused'
        : `${refused.length} of ${previews.length} objects ${refused.length === 1 ? 'is' : 'are'} refused`
    return failure(422, count, refused.flatMap(refusal))
  }
  if (wanted === jsonPatch) return { status: 200, contentType: jsonPatch, body: formatJson(only.patch) }
  return { status: 200, contentType: wanted, body: writeManifests(previewed) }
}

/** Each reason of a refusal, with the object it is about. */
export function refusal({ object: { kind, name }, decision: { reasons } }: Preview): string[] {
  return reasons.map((reason) => `${kind}${name && ` ${name}`}: ${reason}`)
}

function failure(status: Answer['status'], error: string, problems: readonly string[] = []): Answer {
  return { status, contentType: json, body: formatJson({ error, problems }) }
}

/** The offer that an Accept header (RFC 9110, 12.5.1) likes best: the closest range decides on an offer, the order on a tie. */
function negotiate(accept: string | undefined): (typeof offered)[number] | undefined {
  if (accept === undefined || accept.trim() === '') return json
  const ranges = accept.split(',').map((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    const quality = q === undefined ? 1 : Number(q.slice(2))
    return { type, quality: quality >= 0 && quality <= 1 ? quality : 0 }
  })
  const quality = (offer: string): number => {
    const names = [offer, `${offer.split('/')[0]}/*`, '*/*']
    const range = names.map((name) => ranges.find(({ type }) => type === name)).find((found) => found !== undefined)
    return range?.quality ?? 0
  }
  const [best] = offered.map((offer) => ({ offer, quality: quality(offer) })).sort((a, b) => b.quality - a.quality)
  return best !== undefined && best.quality > 0 ? best.offer : undefined
}
