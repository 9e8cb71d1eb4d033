import { presets } from '../admission/intent/presets.ts'
import { gateForms } from '../admission/words/openings.ts'
import { version } from '../version.ts'
import { parts } from './query.ts'
import { choices } from './settings.ts'
import { whatIfType } from './what-if.ts'

const text = { type: 'string' } as const
const step = { type: 'integer', minimum: 0 } as const
const list = (items: object) => ({ type: 'array', items })
const warnings = { ...list({ type: 'string', maxLength: 256 }), maxItems: 15 }
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })

/** An object with these keys and no others; `optional` ones may be missing. */
const object = (properties: Record<string, object>, optional: readonly string[] = []) => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((key) => !optional.includes(key)),
  additionalProperties: false,
})

const pointer = { type: 'string', description: 'JSON Pointer (RFC 6901) from the root of the object.' }

const schemas = {
  Previews: object(
    {
      results: { ...list(ref('Result')), description: 'One for each object, in the order of the input.' },
      manifests: {
        type: 'string',
        description: 'With `include=manifests`: the whole input as it would be. What is refused is in it as it came.',
      },
      notices: {
        ...list(ref('Mistake')),
        description: 'What is hardly meant in the configuration of the body; missing where there is nothing.',
      },
    },
    ['manifests', 'notices'],
  ),
  WhatIf: object(
    {
      manifests: { type: 'string', description: 'JSON or YAML.' },
      configuration: {
        type: 'string',
        description: "A configuration file, as YAML; without it, the server's own holds.",
      },
      settings: ref('Settings'),
    },
    ['configuration', 'settings'],
  ),
  Settings: {
    ...object(
      {
        ...Object.fromEntries(Object.entries(choices).map(([key, values]) => [key, { enum: values }])),
        kubernetesVersion: { type: 'string', description: "The oldest node's, as in `1.35`." },
        presets: { ...list(text), description: 'A rule for each.' },
      },
      [...Object.keys(choices), 'kubernetesVersion', 'presets'],
    ),
    description: 'On top of the configuration: its defaults, and rules for presets behind its own.',
  },
  Result: object(
    {
      apiVersion: text,
      kind: text,
      namespace: { type: 'string', description: 'Its own, or the one of the query; empty where there is none.' },
      name: { type: 'string', description: 'With `*` at the end for a generateName.' },
      verdict: {
        enum: ['patched', 'unchanged', 'skipped', 'refused'],
        description: 'skipped: nothing is asked for, or nothing can be done; unchanged: it is as it should be already.',
      },
      reasons: list(text),
      messages: {
        ...list(ref('Message')),
        description:
          'Why it is refused, in the order of the lines, and what is warned of: the same texts with code and place.',
      },
      warnings: { ...warnings, description: 'The worst first. The API server shows them without the costs.' },
      costs: {
        ...warnings,
        description: 'Those of the warnings that only name a price: nothing that needs to be acted on.',
      },
      tiers: {
        ...list(list(ref('Sidecar'))),
        description: 'Sidecars of one tier start side by side; the next tier starts when all of them are ready.',
      },
      gates: { ...list(ref('Gate')), description: 'What holds the app back; gates that are alike are one entry.' },
      patch: { ...list(ref('Operation')), description: 'JSON Patch (RFC 6902).' },
      purposes: { ...list(text), description: 'What each operation of the patch is for, in its order.' },
      patched: { type: 'object', description: 'The object as it would be; missing where it is refused.' },
      start: ref('Start'),
      suggestion: ref('Suggestion'),
    },
    ['patched', 'start', 'suggestion'],
  ),
  Suggestion: {
    ...object(
      {
        kind: {
          enum: ['asked', 'holds', 'faster', 'mend', 'none'],
          description:
            'mend: these lines would have the app wait; faster: it waits, and they would have it wait less; holds: it waits already; none: nothing can be suggested.',
        },
        sidecars: list(ref('KnownSidecar')),
        lines: list(ref('SuggestedLine')),
        conditional: {
          ...list(ref('SuggestedLine')),
          description: 'Would serve only if the sidecar is configured for it, which its manifest does not show.',
        },
        why: { ...list(text), description: 'Why nothing is suggested.' },
        edits: {
          ...list(ref('Edit')),
          description:
            'With `include=edits`: what adds the lines to the body, in offsets of it; comments stay. Missing where there is nothing to add, or too much to look through.',
        },
        conditionalEdits: {
          ...list(ref('Edit')),
          description:
            'The same with the conditional lines; instead of `edits`, not after them. Missing where a part of one is still to be filled in.',
        },
      },
      ['edits', 'conditionalEdits'],
    ),
    description: 'What a pod that says nothing could say, if it has well-known sidecars.',
  },
  KnownSidecar: object({
    name: text,
    preset: { enum: presets.map(({ name }) => name) },
    title: { type: 'string', description: 'Its name for people.' },
    by: {
      enum: ['name', 'image', 'injector'],
      description: 'How it was recognised; injector: the pod asks for it, and it is still to be added.',
    },
    gate: ref('GateToday'),
    behind: { ...list(text), description: 'The app containers that are listed before it.' },
    holds: { type: 'boolean', description: 'Whether the app waits for it as it is.' },
    today: { type: 'string', description: 'The same in words; they complete its name.' },
  }),
  GateToday: {
    oneOf: [
      object({ kind: { enum: ['none', 'native', 'sidecar-first'] } }),
      object(
        {
          kind: { const: 'startup-probe' },
          every: { type: 'integer', minimum: 1, description: 'Seconds.' },
          delay: { type: 'integer', minimum: 1, description: 'Seconds before the first time, if the kubelet waits.' },
        },
        ['delay'],
      ),
      object({ kind: { const: 'own-hook' }, waits: { type: 'boolean', description: 'It is known to wait.' } }),
      object({ kind: { const: 'init-container' }, name: text }),
      object({ kind: { const: 'not-yet-there' }, key: text }),
    ],
    description:
      'What holds the app back for a sidecar as the pod is; native: a native sidecar without a startupProbe.',
  },
  SuggestedLine: object({
    key: { type: 'string', description: 'An annotation of the pod, or of the pod template.' },
    value: text,
    why: text,
  }),
  Edit: object({ start: step, end: step, text }),
  Message: object({
    code: { type: 'string', pattern: '^SF[0-9]{3}$', description: 'As docs/messages.md lists it.' },
    severity: { enum: ['refusal', 'warning', 'note'] },
    text,
    path: {
      type: 'string',
      description:
        'From the root of the object, such as `spec.template.metadata.annotations[sidecar-first.dev/gate]`; empty for the whole.',
    },
    line: { type: 'integer', minimum: 1, description: 'Of the body.' },
    column: { type: 'integer', minimum: 1 },
  }),
  Sidecar: object(
    {
      name: text,
      check: {
        type: 'string',
        description: 'What ready means, in the grammar of the annotation; none: not waited for.',
      },
      timeout: { type: 'string', description: 'As in `1m30s`; missing where nothing is waited for.' },
      onTimeout: { enum: ['fail', 'continue'] },
      rule: { type: 'string', description: 'The rule that it is under.' },
      every: {
        type: 'string',
        description: 'How often the kubelet asks the startupProbe that holds the app; missing where a hook does.',
      },
    },
    ['timeout', 'onTimeout', 'rule', 'every'],
  ),
  Gate: object({
    form: { enum: gateForms, description: 'startupProbe: the kubelet asks it, and no hook of ours waits.' },
    sidecars: list(text),
    opensOn: { ...list(text), description: 'If one of these happens to a sidecar, the app starts without it.' },
  }),
  Operation: {
    oneOf: [
      object({ op: { const: 'move' }, from: pointer, path: pointer }),
      object({ op: { const: 'add' }, path: pointer, value: {} }),
      object({ op: { const: 'remove' }, path: pointer }),
    ],
  },
  Start: {
    ...object({ without: list(ref('Bar')), with: list(ref('Bar')) }),
    description:
      'The predicted start, as given and as patched, if all goes well. Numbers are steps, an order of events: no measured time.',
  },
  Bar: object(
    {
      name: text,
      role: { enum: ['init', 'sidecar', 'app'] },
      check: { type: 'string', description: 'Of a sidecar that the pod lists.' },
      start: step,
      ready: { ...step, description: 'Of an init container: its end.' },
      hook: {
        ...object({ from: step, until: step, waitsFor: list(text) }),
        description: 'Its PostStart hook: until it returns, nothing else is started.',
      },
      after: { ...list(text), description: 'Whom it waited for.' },
      notReady: { ...list(text), description: "The sidecars that aren't ready when it starts, and should be." },
      outlook: {
        enum: ['doubtful', 'stuck', 'never', 'endless'],
        description:
          'If something waits for what starts behind it: stuck, it does; doubtful, it may; never: it is behind that and does not start; endless: a sidecar that runs on as a regular container of a Job, which then never completes.',
      },
      needs: { type: 'string', description: 'That container.' },
    },
    ['check', 'hook', 'outlook', 'needs'],
  ),
  Problem: object(
    {
      code: { type: 'string', pattern: '^SF[0-9]{3}$', description: 'As docs/messages.md lists it.' },
      error: text,
      problems: { ...list(text), description: 'At most 100, each with its place.' },
      mistakes: { ...list(ref('Mistake')), description: 'The same as values, where each has a place.' },
    },
    ['mistakes'],
  ),
  Mistake: object({
    source: { enum: ['manifests', 'configuration'], description: 'Where its line is.' },
    code: { type: 'string', pattern: '^SF[0-9]{3}$' },
    text,
    line: { type: 'integer', minimum: 1 },
    column: { type: 'integer', minimum: 1 },
  }),
}

const json = (schema: object) => ({ 'application/json': { schema } })
const problem = (description: string, headers?: object) => ({
  description,
  ...(headers && { headers }),
  content: json(ref('Problem')),
})

/** What `GET /openapi.json` says about `POST /preview`. */
export const openapi = {
  openapi: '3.1.0',
  info: {
    title: 'sidecar-first preview',
    version,
    description:
      'What the webhook would do to manifests, without a cluster. Nothing of what is sent is stored or logged. ' +
      'The answer is the same as that of `sidecar-first preview -o json`.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  // Relative to this document, wherever the server is mounted.
  servers: [{ url: '.' }],
  paths: {
    '/preview': {
      post: {
        operationId: 'preview',
        summary: 'A dry run of manifests',
        security: [],
        parameters: [
          {
            name: 'namespace',
            in: 'query',
            description:
              'The namespace of objects that name none, as in `kubectl apply -n`. Rules for namespaces by name then count.',
            schema: { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$' },
          },
          {
            name: 'include',
            in: 'query',
            description: 'What the JSON answer is to have beside the results; can be given twice.',
            schema: { enum: parts },
          },
        ],
        requestBody: {
          required: true,
          description:
            'A Pod, a workload, a List, an AdmissionReview, or several YAML documents of those; up to 7 MiB. JSON and YAML are told apart by ' +
            'the body itself.',
          content: {
            'application/yaml': { schema: text },
            'application/json': { schema: { type: 'object' } },
            [whatIfType]: { schema: ref('WhatIf') },
          },
        },
        responses: {
          200: {
            description:
              'What would be done. The header `Accept` chooses between all results, the patch of one object, and the manifests.',
            headers: {
              Warning: {
                description: 'For each warning `299 - "text"` (RFC 9111, 5.5), 4,096 characters in all at most.',
                schema: text,
              },
            },
            content: {
              ...json(ref('Previews')),
              'application/json-patch+json': { schema: list(ref('Operation')) },
              'application/yaml': { schema: text },
            },
          },
          400: problem(
            'The body or the query can not be read. Each problem says where: `document 2, line 4, column 5: …`.',
          ),
          406: problem('None of the types that `Accept` names can be answered.'),
          408: problem('The body came too slowly.'),
          411: problem('The body came in chunks, without a Content-Length.'),
          413: problem('The body, or what would come of it, is too large.'),
          415: problem('The body is of another type than JSON or YAML, or compressed.'),
          422: problem(
            'An object is refused, and a patch or manifests were asked for; or the manifests take more CPU or memory than they may.',
          ),
          429: problem('Too many requests.', { 'Retry-After': { schema: { type: 'integer' } } }),
          500: problem('A fault of the server; its log has more.'),
          503: problem('The machine is too busy.', { 'Retry-After': { schema: { type: 'integer' } } }),
        },
      },
    },
  },
  components: { schemas },
} as const
