/**
 * node scripts/shipped/chart.ts FOLDER: writes the Helm chart. Its templates are what `install` renders, with Helm's expressions where a flag's value
 * would stand; chart/ has what Helm alone needs. test/shipped/chart.process.test.ts compares what both make.
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { type Document, isMap, isSeq, Pair, Scalar, type YAMLMap } from 'yaml'
import manifest from '../../package.json' with { type: 'json' }
import { manifests } from '../../src/install/manifests.ts'
import { type Part, partNames, render, textOf } from '../../src/install/render.ts'
import { configurationFile, objectKeys, objectNames } from '../../src/kubernetes/names.ts'
import { type InstallMode, installModes } from '../../src/webhooks/configurations.ts'

/** Values that stand for what Helm fills in. */
const sentinel = {
  namespace: 'sentinel-namespace',
  image: 'sentinel-image:1',
  waiterImage: 'sentinel-waiter:1',
  configuration: 'sentinel-configuration',
  replicas: 987_654,
} as const
const gate = 'native'
const lock = 'on'
const found = { kubernetesVersion: '1.99', delivery: 'shell' } as const

interface Variant {
  readonly mode: InstallMode
  readonly certManager: boolean
}
const variants: readonly Variant[] = installModes.flatMap((mode) =>
  [false, true].map((certManager) => ({ mode, certManager })),
)

function documentsOf(variant: Variant, parts: readonly Part[]): readonly Document[] {
  const rendered = render(manifests, manifest.version, {
    ...variant,
    ...sentinel,
    configuration: undefined,
    gate,
    lock,
    found,
    parts,
    rolls: true,
  })
  if (!rendered.ok) throw new Error(`the standard configuration of ${variant.mode} has problems`)
  return rendered.documents
}

/** The templates, by file name. Helm makes the namespace itself. */
function templates(): Map<string, string> {
  const made = new Map<string, string>()
  const basic = new Set(variants.flatMap((variant) => documentsOf(variant, []).map(fileOf)))
  const partOf = new Map(
    partNames.flatMap((part) =>
      documentsOf(variants[0] as Variant, [part]).map((each) => [fileOf(each), part] as const),
    ),
  )
  const byFile = new Map<string, Map<string, Variant[]>>()
  for (const variant of variants) {
    for (const document of documentsOf(variant, partNames)) {
      if (document.get('kind') === 'Namespace') continue
      const texts = byFile.get(fileOf(document)) ?? new Map<string, Variant[]>()
      byFile.set(fileOf(document), texts)
      const text = expressions(document)
      texts.set(text, [...(texts.get(text) ?? []), variant])
    }
  }
  for (const [file, texts] of byFile) {
    const branches = [...texts].map(([text, of]) => under(conditionOf(of), text))
    const part = basic.has(file) ? undefined : partOf.get(file)
    // Nothing for a part that was set to null.
    made.set(file, under(part && `(.Values.${part}).enabled`, branches.join('')))
  }
  return made
}

const fileOf = (document: Document): string =>
  `${String(document.getIn(['metadata', 'name']))}.${String(document.get('kind'))}.yaml`.toLowerCase()

const under = (condition: string | undefined, text: string): string =>
  condition === undefined ? text : `{{- if ${condition} }}\n${text}{{- end }}\n`

/** When exactly these variants are wanted. */
function conditionOf(of: readonly Variant[]): string | undefined {
  const modes = new Set(of.map(({ mode }) => mode))
  const managers = new Set(of.map(({ certManager }) => certManager))
  if (modes.size * managers.size !== of.length) throw new Error(`no simple condition for ${JSON.stringify(of)}`)
  const conditions = [
    ...(modes.size === 1 ? [`(eq .Values.mode "${[...modes].join('')}")`] : []),
    ...(managers.size === 1 ? [managers.has(true) ? '.Values.certManager' : '(not .Values.certManager)'] : []),
  ]
  return conditions.length > 1 ? `and ${conditions.join(' ')}` : conditions[0]
}

/** An object's text with Helm's expressions instead of the sentinels. */
function expressions(document: Document): string {
  const kind = document.get('kind')
  if (kind === 'CustomResourceDefinition')
    document.setIn(['metadata', 'annotations', 'helm.sh/resource-policy'], 'keep')
  if (isConfiguration(document)) document.setIn(['data', configurationFile], sentinel.configuration)
  const lines = takeValues(document)
  // What is written in braces in dashboards and alerts isn't Helm's.
  let text = `${textOf([document])}---\n`.replaceAll('{{', '{{ "{{" }}')
  const replace = (what: string | RegExp, by: string) => {
    text = text.replaceAll(what, by)
  }
  const isNamed = (name: string) => document.getIn(['metadata', 'name']) === name
  const isOwn = isNamed(objectNames.mutating) || isNamed(objectNames.validating)
  // That for workloads depends on no configuration.
  if (isOwn && (kind === 'MutatingWebhookConfiguration' || kind === 'ValidatingWebhookConfiguration')) {
    const key = kind === 'MutatingWebhookConfiguration' ? 'mutating' : 'validating'
    const own = `{{- if .Values.webhooks }}\nwebhooks: {{ toYaml .Values.webhooks.${key} | nindent 2 }}\n{{- else }}\n`
    replace(/^webhooks:\n(?:[ ].*\n)+/gm, `${own}$&{{- end }}\n`)
  }
  replace(
    new RegExp(`(?<=${objectKeys.configurationHash}: )\\S+`, 'g'),
    '{{ printf "%s\\n" (include "sidecar-first.configuration" .) | sha256sum }}',
  )
  replace(
    `, --namespace=${sentinel.namespace}`,
    `{{ if ne .Release.Namespace "${objectNames.namespace}" }}, --namespace={{ .Release.Namespace }}{{ end }}`,
  )
  // With the indentation said, its first line may begin with a space.
  replace(
    new RegExp(`(?<=${configurationFile}: )\\W*${sentinel.configuration}`, 'g'),
    '|2\n{{ include "sidecar-first.configuration" . | indent 4 }}',
  )
  // Quoted where it is a value: a namespace may be called 1.
  replace(new RegExp(`(?<=[:-] )${sentinel.namespace}$`, 'gm'), '{{ .Release.Namespace | quote }}')
  replace(sentinel.namespace, '{{ .Release.Namespace }}')
  replace(sentinel.image, '{{ include "sidecar-first.image" . }}')
  replace(sentinel.waiterImage, '{{ include "sidecar-first.waiterImage" . }}')
  replace(String(sentinel.replicas), '{{ .Values.replicas }}')
  text = text.replace(/^( *)sentinel-(\d+): null\n/gm, (_, { length }: string, at: number) => lines[at]?.(length) ?? '')
  if (text.includes('sentinel')) throw new Error(`${fileOf(document)} has a sentinel left`)
  return text
}

/** Lines of Helm's, by how far they are indented. In a document, a key that is its index stands for one. */
type Line = (indent: number) => string

/** Makes room for the values that all objects, or all pods, take. */
function takeValues(document: Document): readonly Line[] {
  const lines: Line[] = []
  const mark = (line: Line) => new Pair(new Scalar(`sentinel-${lines.push(line) - 1}`), new Scalar(null))
  const mapIn = (parent: Document | YAMLMap, ...path: (string | number)[]) => {
    const map = parent.getIn(path)
    if (!isMap<Scalar>(map)) throw new Error(`${fileOf(document)} has no ${path.join('.')}`)
    return map
  }
  const field =
    (key: string, value: string): Line =>
    (indent) =>
      `{{- with ${value} }}\n${' '.repeat(indent)}${key}: {{ toYaml . | nindent ${indent + 2} }}\n`
  const end: Line = () => '{{- end }}\n'
  const added = (map: YAMLMap<Scalar>, key: string, value: string) => {
    const own = map.get(key)
    if (isMap(own))
      own.items.push(mark((indent) => `{{- with ${value} }}\n{{ toYaml . | indent ${indent} }}\n{{- end }}\n`))
    else map.items.push(mark(field(key, value)), mark(end))
  }
  const instead = (map: YAMLMap<Scalar>, key: string, value: string) => {
    const at = map.items.findIndex((pair) => pair.key.value === key)
    const own = at < 0 ? [] : [mark(() => '{{- else }}\n'), ...map.items.splice(at, 1)]
    map.items.splice(at < 0 ? map.items.length : at, 0, mark(field(key, value)), ...own, mark(end))
  }
  const metadata = mapIn(document, 'metadata')
  added(metadata, 'labels', '.Values.commonLabels')
  added(metadata, 'annotations', '.Values.commonAnnotations')
  if (document.get('kind') !== 'Deployment') return lines

  const template = mapIn(document, 'spec', 'template')
  added(mapIn(template, 'metadata'), 'labels', '.Values.podLabels')
  added(mapIn(template, 'metadata'), 'annotations', '.Values.podAnnotations')
  const pod = mapIn(template, 'spec')
  // The helper has the selector of the manifests, too.
  const selector = pod.items.findIndex(({ key }) => key.value === 'nodeSelector')
  pod.items[selector] = mark((indent) => `{{ include "sidecar-first.pod" . | indent ${indent} }}\n`)
  instead(pod, 'priorityClassName', '.Values.priorityClassName')
  if (pod.has('topologySpreadConstraints'))
    instead(pod, 'topologySpreadConstraints', '.Values.topologySpreadConstraints')
  const containers = pod.get('containers')
  if (!isSeq(containers) || containers.items.length !== 1) throw new Error(`${fileOf(document)} has several containers`)
  const component = metadata.getIn(['labels', objectKeys.component])
  instead(mapIn(pod, 'containers', 0), 'resources', `(.Values.resources).${component}`)
  return lines
}

const isConfiguration = (document: Document) =>
  document.get('kind') === 'ConfigMap' && document.getIn(['metadata', 'name']) === objectNames.configMap

/** The standard configuration of each mode, for a helper of the chart. */
function configurationHelper(): string {
  const branches = installModes.map((mode) => {
    const document = documentsOf({ mode, certManager: false }, []).find(isConfiguration)
    if (!document) throw new Error('there is no ConfigMap')
    const set = (text: string, line: string, key: string) => {
      if (!text.includes(line)) throw new Error(`the standard configuration has no line ${line}`)
      return text.replace(line, `{{- with .Values.${key} }}\n${line.replace(/: .*\n$/, ': {{ . }}\n')}{{- end }}\n`)
    }
    let text = String(document.getIn(['data', configurationFile])).replace(
      sentinel.waiterImage,
      '{{ include "sidecar-first.waiterImage" . }}',
    )
    text = set(text, `  delivery: ${found.delivery}\n`, 'delivery')
    const defaults = `  gate: ${gate}\n  lock: ${lock}\n`
    const either = `{{- if or .Values.gate .Values.lock }}\ndefaults:\n${defaults}{{- end }}\n`
    if (!text.includes(`defaults:\n${defaults}`)) throw new Error('the standard configuration has other defaults')
    text = text.replace(`defaults:\n${defaults}`, either)
    text = set(text, `  gate: ${gate}\n`, 'gate')
    text = set(text, `  lock: ${lock}\n`, 'lock')
    const version = `kubernetesVersion: "${found.kubernetesVersion}"\n`
    if (!text.includes(version)) throw new Error('the standard configuration has no kubernetesVersion')
    text = text.replace(version, 'kubernetesVersion: {{ include "sidecar-first.kubernetesVersion" . | quote }}\n')
    return `{{- if eq .Values.mode "${mode}" }}\n${text}{{- end }}\n`
  })
  return `{{- define "sidecar-first.standard" -}}\n${branches.join('')}{{- end }}\n`
}

/** Every file of the chart, by its path. */
export function chart(): Map<string, string> {
  const own = globSync('**/*', { cwd: source, withFileTypes: true }).filter((entry) => entry.isFile())
  const files = own.map((entry): [string, string] => {
    const path = join(entry.parentPath, entry.name)
    return [relative(source, path), readFileSync(path, 'utf8').replaceAll('VERSION', manifest.version)]
  })
  const generated = [...templates()].map(([file, text]): [string, string] => [`templates/${file}`, text])
  return new Map([...files, ...generated, ['templates/_standard.tpl', configurationHelper()]])
}
const source = join(import.meta.dirname, '../../chart')

if (import.meta.main) {
  const [folder] = process.argv.slice(2)
  if (!folder) throw new Error('usage: node scripts/shipped/chart.ts FOLDER')
  for (const [path, text] of chart()) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}
