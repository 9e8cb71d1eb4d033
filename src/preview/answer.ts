import type { Configuration } from '../admission/intent/configuration.ts'
import { type Answer, failure, json, jsonPatch, type Mistake, type Offered, offered, yaml } from './failure.ts'
import { formatJson } from './json.ts'
import { assuming, underKubernetes } from './kubernetes.ts'
import { line, messagesOf } from './message.ts'
import { type Preview, preview, previewResult } from './preview.ts'
import { faultCode, faultText, type Problem, problemLine } from './problems.ts'
import { readQuery } from './query.ts'
import { suggestionEdits } from './suggestion-edits.ts'
import { warningHeader } from './warning-header.ts'
import { readWhatIf, whatIfType } from './what-if.ts'
import { writeManifests } from './write.ts'

/** A `POST /preview`, as far as it matters. */
export interface PreviewRequest {
  /** JSON or YAML, whichever its content type says. */
  readonly body: string
  readonly contentType: string | undefined
  /** What its client likes best of what is offered; undefined where it takes none of that. */
  readonly wanted: Offered | undefined
  /** What follows the `?` of its URL. */
  readonly query: string
}

/** The content types of a body; the form is curl's default. */
const taken: ReadonlySet<string> = new Set([
  json,
  ...offered.slice(2),
  'text/plain',
  'application/x-www-form-urlencoded',
  whatIfType,
])

/** In characters: an answer can be many times as long as the input, and all waiting answers are in memory. */
const mostAnswer = 28 * 1024 * 1024

/** Answers `POST /preview`. Never throws. Hostile input keeps it busy and takes memory: `previewer.ts` bounds both. */
export function answerPreview(
  { body, contentType, wanted, query }: PreviewRequest,
  configuration: Configuration,
): Answer {
  const given = (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  if (given !== '' && !taken.has(given)) {
    return failure('body-type', `${given} is not read here; send ${json} or ${yaml}`)
  }
  if (wanted === undefined) return failure('answer-type', `the answer can be ${json}, ${jsonPatch} or ${yaml}`)
  const asked = readQuery(query)
  if (!asked.ok) return failure('wrong-query', 'the query can not be read', [asked.problem])
  const { namespace, include } = asked.value
  const whatIf =
    given === whatIfType ? readWhatIf(body, configuration) : { manifests: body, configuration, notices: [] }
  if ('wrong' in whatIf) return whatIf.wrong
  const under = wanted === json ? assuming(whatIf.configuration) : whatIf.configuration
  const previewed = preview(whatIf.manifests, under, namespace)
  if (!previewed.ok) {
    const { problems } = previewed
    return failure(
      'manifests-unreadable',
      'the manifests can not be read',
      problems.map(problemLine),
      problems.map(mistakeOf),
    )
  }
  const { previews } = previewed
  const [only] = previews
  if (only === undefined) return failure('no-object', 'there is no manifest in the body; send a Pod or a workload')
  if (wanted === json) {
    const { notices } = whatIf
    const edits = include.has('edits') ? suggestionEdits(previews) : undefined
    const answered = {
      kubernetes: underKubernetes(whatIf.configuration),
      results: previews.map((preview) => previewResult(preview, edits?.get(preview))),
      ...(include.has('manifests') && { manifests: writeManifests(previewed) }),
      ...(notices.length > 0 && { notices }),
    }
    return success(json, formatJson(answered), previews)
  }
  const refused = previews.filter(({ decision }) => decision.verdict === 'refused')
  if (wanted === jsonPatch && previews.length > 1) {
    return failure('answer-type', `${jsonPatch} is for one object, and here are ${previews.length}; ask for ${json}`)
  }
  if (refused.length > 0) {
    const count =
      previews.length === 1
        ? 'the object is refused'
        : `${refused.length} of ${previews.length} objects ${refused.length === 1 ? 'is' : 'are'} refused`
    return failure('objects-refused', count, refused.flatMap(refusal))
  }
  return success(wanted, wanted === jsonPatch ? formatJson(only.patch) : writeManifests(previewed), previews)
}

const mistakeOf = ({ line, column, fault }: Problem): Mistake => ({
  source: 'manifests',
  code: faultCode(fault),
  text: faultText(fault),
  line,
  column,
})

/** Each reason of a refusal, with the object it is about, in the order of the lines. */
function refusal(preview: Preview): string[] {
  const { kind, name } = preview.object
  return messagesOf(preview)
    .filter(({ severity }) => severity === 'refusal')
    .map((one) => `${kind}${name && ` ${name}`}: ${line(one)}`)
}

function success(contentType: string, body: string, previews: readonly Preview[]): Answer {
  if (body.length > mostAnswer) {
    return failure(
      'answer-too-large',
      `the answer would be longer than ${mostAnswer} characters; send fewer manifests at a time`,
    )
  }
  const warning = warningHeader(previews)
  return { status: 200, contentType, body, ...(warning.length > 0 && { headers: { warning } }) }
}
