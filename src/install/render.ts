import { type Document, isMap, isSeq, parse, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import { type Configuration, defaultConfiguration, type GateChoice } from '../admission/configuration.ts'
import { type Remark, readConfiguration } from '../configuration/read.ts'
import {
  configurationHash,
  configurationHashKey,
  type InstallMode,
  webhookConfigurations,
} from '../webhooks/configurations.ts'
import { type Settings, settle } from './configuration.ts'
import { resourcesOf } from './kustomization.ts'

/** Parts beside an installation, and the folder of each below manifests/. */
const parts = { monitoring: 'optional/monitoring', preview: 'optional/preview', rollouts: 'rollouts' } as const
export type Part = keyof typeof parts
export const partNames = Object.keys(parts) as Part[]

/** What shall be installed. */
export interface Wanted {
  readonly mode: InstallMode
  readonly namespace: string
  /** The replicas of `serve`. */
  readonly replicas?: number | undefined
  readonly image?: string | undefined
  /** Of `image`; the waiter is pulled by the pods that wait, with their own secrets. */
  readonly pullSecret?: string | undefined
  readonly waiterImage?: string | undefined
  readonly gate?: GateChoice | undefined
  /** A configuration file's text; the mode's own where it is left out. */
  readonly configuration?: string | undefined
  readonly certManager?: boolean
  readonly parts?: readonly Part[]
  /** Have a changed configuration replace the replicas, so that all go by it when what calls them changes too. */
  readonly rolls?: boolean
  /** What the cluster can do, where it has been asked. */
  readonly found?: Settings['found']
}

export type Rendered =
  /** Notices are about the configuration, as `sidecar-first config` gives them. */
  | {
      readonly ok: true
      readonly documents: readonly Document[]
      readonly configuration: Configuration
      readonly notices: readonly string[]
    }
  | { readonly ok: false; readonly problems: readonly Remark[] }

/** Where the manifests put everything, and by which name they call the image. */
export const standardNamespace = 'sidecar-first'
const standardImage = /^docker\.io\/sidecar-first\/sidecar-first:/

/**
 * The objects of an installation, as `kubectl apply -k` would make them of the same manifests, with the flags' values put in.
 * @param files the manifests, texts by path
 * @param version the program's
 */
export function render(files: Readonly<Record<string, string>>, version: string, wanted: Wanted): Rendered {
  const { mode, namespace, certManager = false, found } = wanted
  const documents = [
    ...resourcesOf(files, `overlays/${mode}`),
    ...(certManager ? resourcesOf(files, 'overlays/cert-manager/certificate.yaml') : []),
    ...(wanted.parts ?? []).flatMap((part) => resourcesOf(files, parts[part])),
  ].filter((document) => !(certManager && document.getIn(['metadata', 'labels', component]) === 'certs'))

  const configMap = documents.find((document) => isA(document, 'ConfigMap') && nameOf(document) === 'sidecar-first')
  const standard: string = configMap && parse(configMap.toString()).data['config.yaml']
  const chosen = { waiterImage: wanted.waiterImage, gate: wanted.gate }
  const own = readConfiguration(wanted.configuration ?? standard, version)
  if (!own.ok) return own
  const text = settle(wanted.configuration ?? standard, { chosen, found })
  const read = readConfiguration(text, version)
  if (!read.ok) return read
  const block = new Scalar(text)
  block.type = Scalar.BLOCK_LITERAL
  configMap?.setIn(['data', 'config.yaml'], block)

  const endpoint = { service: 'sidecar-first', port: 443 }
  const webhooks = webhookConfigurations(read.configuration, text, { mode, namespace, endpoint })
  const hash = configurationHash(text)
  for (const document of documents) {
    const made = [webhooks.mutating, webhooks.validating].find(({ kind }) => isA(document, kind ?? ''))
    if (made) {
      document.setIn(['metadata', 'annotations', configurationHashKey], hash)
      document.set('webhooks', document.createNode(made.webhooks, { aliasDuplicateObjects: false }))
    }
    if (made && certManager) {
      document.setIn(
        ['metadata', 'annotations', 'cert-manager.io/inject-ca-from'],
        `${standardNamespace}/sidecar-first`,
      )
    }
    if (namespace !== standardNamespace) move(document, namespace)
    if (wanted.rolls && readsConfiguration(document)) {
      document.setIn(['spec', 'template', 'metadata', 'annotations', configurationHashKey], hash)
    }
    if (isA(document, 'Deployment'))
      adapt(document, { ...wanted, waiterImage: read.configuration.waiter.image }, version)
  }
  const notices = [...read.notices.map(({ message }) => message), ...webhooks.notices]
  return { ok: true, documents, configuration: read.configuration, notices }
}

/** The documents as one text that `kubectl apply -f -` takes. */
export const textOf = (documents: readonly Document[]): string =>
  documents.map((document) => document.toString({ lineWidth: 0, flowCollectionPadding: false })).join('---\n')

const component = 'app.kubernetes.io/component'
const nameOf = (document: Document) => document.getIn(['metadata', 'name'])
const isA = (document: Document, kind: string) => document.get('kind') === kind

const readsConfiguration = (document: Document) =>
  document.getIn(['spec', 'template', 'spec', 'containers', 0, 'args', 0]) === 'serve'

/** Puts an object into another namespace, and what it says of the namespace with it. */
function move(document: Document, namespace: string): void {
  if (isA(document, 'Namespace')) document.setIn(['metadata', 'name'], namespace)
  if (document.hasIn(['metadata', 'namespace'])) document.setIn(['metadata', 'namespace'], namespace)
  for (const subject of maps(document.get('subjects'))) subject.set('namespace', namespace)
  const source = ['metadata', 'annotations', 'cert-manager.io/inject-ca-from']
  if (document.hasIn(source)) document.setIn(source, `${namespace}/sidecar-first`)
  const names = document.getIn(['spec', 'dnsNames'])
  if (isSeq<Scalar<string>>(names)) {
    for (const name of names.items) name.value = name.value.replace(`.${standardNamespace}.svc`, `.${namespace}.svc`)
  }
}

/** What the flags say of a Deployment. `waiterImage` is the configuration's. */
function adapt(document: Document, wanted: Wanted, version: string): void {
  const { namespace, image, pullSecret, replicas, waiterImage } = wanted
  if (replicas !== undefined && nameOf(document) === 'sidecar-first') document.setIn(['spec', 'replicas'], replicas)
  const pod = document.getIn(['spec', 'template', 'spec'])
  if (!isMap(pod)) return
  if (pullSecret !== undefined) pod.set('imagePullSecrets', document.createNode([{ name: pullSecret }]))
  for (const container of maps(pod.get('containers'))) {
    if (image !== undefined && standardImage.test(String(container.get('image')))) container.set('image', image)
    const args = container.get('args')
    if (!(args instanceof YAMLSeq)) continue
    const [command] = args.toJSON()
    // `serve` needs no name of its namespace, and has the configuration; the others know what is standard.
    if (command !== 'serve' && namespace !== standardNamespace) args.add(`--namespace=${namespace}`)
    if (command === 'rollouts' && waiterImage !== defaultConfiguration(version).waiter.image) {
      args.add(`--waiter-image=${waiterImage}`)
    }
  }
}

const maps = (list: unknown): YAMLMap[] =>
  isSeq(list) ? list.items.filter((item): item is YAMLMap => item instanceof YAMLMap) : []
