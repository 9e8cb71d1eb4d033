import { type Document, isMap, isSeq, parse, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import { defaultConfiguration } from '../admission/intent/configuration.ts'
import type { Coded } from '../admission/words/values.ts'
import { faultCode, faultText } from '../configuration/faults.ts'
import { readConfiguration } from '../configuration/read.ts'
import { configurationFile, endpoint, objectKeys, objectNames } from '../kubernetes/names.ts'
import { configurationHash, type InstallMode, webhookConfigurations } from '../webhooks/configurations.ts'
import { resourcesOf } from './kustomization.ts'
import { type Chosen, type Settings, settle } from './settings.ts'

/** Optional parts of an installation, and the folder of each below manifests/. */
const parts = {
  monitoring: 'optional/monitoring',
  preview: 'optional/preview',
  rollouts: 'rollouts',
  starts: 'starts',
} as const
export type Part = keyof typeof parts
export const partNames = Object.keys(parts) as Part[]

/** What to install. */
export interface Wanted extends Chosen {
  readonly mode: InstallMode
  readonly namespace: string
  /** The replicas of `serve`. */
  readonly replicas?: number | undefined
  readonly image?: string | undefined
  /** For `image`; the pods that wait pull the waiter with their own secrets. */
  readonly pullSecret?: string | undefined
  /** A configuration file's text; by default, the mode's. */
  readonly configuration?: string | undefined
  readonly certManager?: boolean
  readonly parts?: readonly Part[]
  /** Replace the replicas when the configuration changes, so that all of them use it once the webhook configurations change, too. */
  readonly rolls?: boolean
  /** What the cluster can do, if it was asked. */
  readonly found?: Settings['found']
}

/** The server's image as the manifests name it. */
export const standardImage = (version: string) => `docker.io/sidecar-first/sidecar-first:${version}`

/**
 * The objects of an installation, as `kubectl apply -k` would make them from the same manifests, with the flags' values filled in.
 * @param files the manifests, texts by path
 * @param version the program's
 */
export function render(files: Readonly<Record<string, string>>, version: string, wanted: Wanted) {
  const { mode, namespace, certManager = false, found } = wanted
  const documents = [
    ...resourcesOf(files, `overlays/${mode}`),
    ...(certManager ? resourcesOf(files, 'overlays/cert-manager/certificate.yaml') : []),
    ...(wanted.parts ?? []).flatMap((part) => resourcesOf(files, parts[part])),
  ].filter((document) => !(certManager && document.getIn(['metadata', 'labels', objectKeys.component]) === 'certs'))

  const configMap = documents.find(
    (document) => isA(document, 'ConfigMap') && nameOf(document) === objectNames.configMap,
  )
  const standard: string = configMap && parse(configMap.toString()).data[configurationFile]
  const own = readConfiguration(wanted.configuration ?? standard, version)
  if (!own.ok) return own
  const text = settle(wanted.configuration ?? standard, { chosen: wanted, found })
  const read = readConfiguration(text, version)
  if (!read.ok) return read
  const block = new Scalar(text)
  block.type = Scalar.BLOCK_LITERAL
  configMap?.setIn(['data', configurationFile], block)

  const webhooks = webhookConfigurations(read.configuration, text, { mode, namespace, endpoint })
  const hash = configurationHash(text)
  for (const document of documents) {
    const made = [webhooks.mutating, webhooks.validating, webhooks.workloads].find(
      ({ kind, metadata }) => isA(document, kind ?? '') && nameOf(document) === metadata?.name,
    )
    if (made) {
      document.setIn(['metadata', 'annotations', objectKeys.configurationHash], hash)
      document.set('webhooks', document.createNode(made.webhooks, { aliasDuplicateObjects: false }))
    }
    if (made && certManager) {
      document.setIn(
        ['metadata', 'annotations', objectKeys.certManager],
        `${objectNames.namespace}/${objectNames.service}`,
      )
    }
    if (namespace !== objectNames.namespace) move(document, namespace)
    if (wanted.rolls && readsConfiguration(document)) {
      document.setIn(['spec', 'template', 'metadata', 'annotations', objectKeys.configurationHash], hash)
    }
    if (isA(document, 'Deployment'))
      adapt(document, { ...wanted, waiterImage: read.configuration.waiter.image }, version)
  }
  // About the configuration, as `sidecar-first config` gives them.
  const notices: readonly Coded[] = [
    ...read.notices.map(({ fault }) => ({ code: faultCode(fault), text: faultText(fault) })),
    ...webhooks.notices,
  ]
  return { ok: true as const, documents, configuration: read.configuration, notices }
}

/** The documents as one text that `kubectl apply -f -` takes. */
export const textOf = (documents: readonly Document[]): string =>
  documents.map((document) => document.toString({ lineWidth: 0, flowCollectionPadding: false })).join('---\n')

const nameOf = (document: Document) => document.getIn(['metadata', 'name'])
const isA = (document: Document, kind: string) => document.get('kind') === kind

const readsConfiguration = (document: Document) =>
  document.getIn(['spec', 'template', 'spec', 'containers', 0, 'args', 0]) === 'serve'

/** Moves an object into another namespace, with what it says about the namespace. */
function move(document: Document, namespace: string): void {
  if (isA(document, 'Namespace')) document.setIn(['metadata', 'name'], namespace)
  if (document.hasIn(['metadata', 'namespace'])) document.setIn(['metadata', 'namespace'], namespace)
  for (const subject of maps(document.get('subjects'))) subject.set('namespace', namespace)
  if (isA(document, 'FlowSchema')) {
    for (const rule of maps(document.getIn(['spec', 'rules']))) {
      for (const subject of maps(rule.get('subjects'))) subject.setIn(['serviceAccount', 'namespace'], namespace)
    }
  }
  const source = ['metadata', 'annotations', objectKeys.certManager]
  if (document.hasIn(source)) document.setIn(source, `${namespace}/${objectNames.service}`)
  const names = document.getIn(['spec', 'dnsNames'])
  if (isSeq<Scalar<string>>(names)) {
    for (const name of names.items)
      name.value = name.value.replace(`.${objectNames.namespace}.svc`, `.${namespace}.svc`)
  }
}

/** Applies the flags to a Deployment. `waiterImage` is the configuration's. */
function adapt(document: Document, wanted: Wanted, version: string): void {
  const { namespace, image, pullSecret, replicas, waiterImage } = wanted
  if (replicas !== undefined && nameOf(document) === objectNames.deployment)
    document.setIn(['spec', 'replicas'], replicas)
  const pod = document.getIn(['spec', 'template', 'spec'])
  if (!isMap(pod)) return
  if (pullSecret !== undefined) pod.set('imagePullSecrets', document.createNode([{ name: pullSecret }]))
  for (const container of maps(pod.get('containers'))) {
    if (image !== undefined && container.get('image') === standardImage(version)) container.set('image', image)
    const args = container.get('args')
    if (!(args instanceof YAMLSeq)) continue
    const [command] = args.toJSON()
    // `serve` and `starts` don't need their namespace; the other commands have defaults.
    if (command !== 'serve' && command !== 'starts' && namespace !== objectNames.namespace)
      args.add(`--namespace=${namespace}`)
    if (command === 'rollouts' && waiterImage !== defaultConfiguration(version).waiter.image) {
      args.add(`--waiter-image=${waiterImage}`)
    }
  }
}

const maps = (list: unknown): YAMLMap[] =>
  isSeq(list) ? list.items.filter((item): item is YAMLMap => item instanceof YAMLMap) : []
