import type { V1Node } from '@kubernetes/client-node'
import { type Configuration, defaultConfiguration } from '../admission/intent/configuration.ts'
import { gates, locks } from '../admission/words/choices.ts'
import { quote } from '../admission/words/quote.ts'
import type { Coded } from '../admission/words/values.ts'
import { remarkText } from '../configuration/faults.ts'
import { imageForm } from '../configuration/image-form.ts'
import { FileError, readText } from '../files/files.ts'
import type { Manifest } from '../install/apply.ts'
import { type Connected, connect, survey } from '../install/connect.ts'
import { manifests } from '../install/manifests.ts'
import { ownNamespace } from '../install/namespace.ts'
import { type Ability, abilityOf } from '../install/nodes.ts'
import { partNames, render, standardImage, textOf, type Wanted } from '../install/render.ts'
import { type Found, waiterImageOf } from '../install/settings.ts'
import { unowned } from '../install/unowned-images.ts'
import { mutatingReference, objectKeys, objectNames } from '../kubernetes/names.ts'
import { heard, ignoredCodes, ignoreOption } from '../messages/ignore.ts'
import { UsageError } from '../terminal/command.ts'
import { defineCommand, type Values } from '../terminal/define-command.ts'
import { duration, wholeNumber } from '../terminal/flag.ts'
import { interrupted } from '../terminal/interrupted.ts'
import { createProgress } from '../terminal/progress.ts'
import { version } from '../version.ts'
import { installModes } from '../webhooks/configurations.ts'

const help = `Prints what a cluster needs, or applies it and waits until a pod has been
patched. Run it again to upgrade.

Usage: sidecar-first install [flags]

  --apply                   apply it, with the rights of your kubeconfig, and
                            wait until it works
  --dry-run                 server-side dry run: nothing is stored
  --context NAME            kubeconfig context (default: the current one).
                            Without --apply, no cluster is asked unless you set
                            it; the output then fits every cluster from 1.30 on

  --mode MODE               namespace-opt-in (default): namespaces labelled
                            ${objectKeys.injection}: enabled; pods
                            there that ask are refused during an outage.
                            cluster-wide: all namespaces but those labelled
                            disabled; pods start unpatched during an outage
  -n, --namespace NAME      its own namespace (${objectNames.namespace})
  --replicas COUNT          replicas of the server (2)
  --image IMAGE             where your nodes pull the server; required unless
                            they have it
  --image-pull-secret NAME  a Secret in that namespace for pulling it
  --waiter-image IMAGE      where your pods pull the waiter, with their own
                            pull secrets; required unless the nodes have it
  --config FILE             the configuration; what it leaves out is set to fit
                            the cluster's oldest node
  --gate GATE               the default of what holds an app back: hook, native
                            or auto
  --lock LOCK               whether it can't even be created until then, by
                            default: on, off or auto
  --cert-manager            let cert-manager make the certificate
  --preview                 also install the preview
  --monitoring              also monitors and alerts for the Prometheus
                            Operator, and dashboards
  --rollouts                also the controller that upgrades sidecars in place
  --starts                  also the exporter that counts how pods start

  --timeout DURATION        how long to wait (5m)
  --trial-namespace NAME    where a pod is tried out, in a dry run (default: a
                            temporary namespace)
  --force                   take fields that others own, go back to an older
                            version, replace a configuration
  --ignore CODE,...         warnings and notes that aren't told; never refusals
                            or problems. Can be repeated

Example: sidecar-first install --image r.example/sf --waiter-image r.example/w |
  kubectl apply --server-side -f -
`

const options = {
  apply: { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
  context: { type: 'string' },
  mode: { type: 'string', choices: installModes },
  namespace: { type: 'string', read: ownNamespace, short: 'n', default: objectNames.namespace },
  replicas: { type: 'string', read: wholeNumber(1, 999) },
  image: { type: 'string', read: imageName },
  'image-pull-secret': { type: 'string', read: secretName },
  'waiter-image': { type: 'string', read: imageName },
  config: { type: 'string' },
  gate: { type: 'string', choices: gates },
  lock: { type: 'string', choices: locks },
  'cert-manager': { type: 'boolean', default: false },
  preview: { type: 'boolean', default: false },
  monitoring: { type: 'boolean', default: false },
  rollouts: { type: 'boolean', default: false },
  starts: { type: 'boolean', default: false },
  timeout: { type: 'string', read: duration, default: '5m' },
  'trial-namespace': { type: 'string' },
  force: { type: 'boolean', default: false },
  ...ignoreOption,
} as const

type Flags = Values<typeof options>

export const install = defineCommand({
  help,
  options,
  async run(flags, _, terminal) {
    const applies = flags.apply || flags['dry-run']
    const ignored = await ignoredCodes(flags.ignore)
    const wanted = await wantedBy(flags)
    const cluster = applies || flags.context !== undefined ? await connect(flags.context) : undefined
    const surveyed = cluster && (await lookAt(cluster))
    const found = surveyed?.found
    const rendered = render(manifests, version, { ...wanted, found, rolls: applies })
    const file = flags.config ?? 'the configuration'
    if (!rendered.ok) throw new FileError(rendered.problems.map((problem) => remarkText(file, problem)))
    const { documents, configuration, notices } = rendered
    requireImages(wanted, configuration.waiter, surveyed?.nodes, flags.config)
    const say = (who: string, said: readonly Coded[]) => {
      for (const { code, text } of heard(said, ignored)) terminal.stderr.write(`${who}: ${code} ${text}\n`)
    }
    say(file, notices)
    if (found?.lock !== undefined) {
      const { droppedLock } = await import('../check/installation/lock.ts')
      say('sidecar-first', [droppedLock(configuration)])
    }
    if (!applies || cluster === undefined) {
      terminal.stdout.write(textOf(documents))
      return 0
    }
    const { delivery } = configuration.waiter
    const because = delivery === found?.delivery ? found.because : 'the configuration says so'
    terminal.stdout.write(`${cluster.context}, ${cluster.server}: Kubernetes ${surveyed?.version}\n`)
    terminal.stdout.write(`the waiter comes by ${delivery}: ${because}\n`)
    const { apply, awaitParts } = await import('../install/install.ts')
    const { objects } = cluster
    const progress = createProgress(terminal.stdout)
    const signal = AbortSignal.any([AbortSignal.timeout(flags.timeout), interrupted()])
    const observes = configuration.mode === 'observe'
    const wholes = documents.map((document): Manifest => document.toJS())
    const mutating = wholes.find(({ kind }) => kind === mutatingReference.kind)
    if (mutating !== undefined && configuration.rules.rules.some(({ enforce }) => enforce)) {
      const { foresee } = await import('../check/installation/refused-by-upgrade.ts')
      const warnings = await foresee(objects, wanted.namespace, configuration, mutating)
      say('sidecar-first', warnings)
    }
    const installation = {
      objects,
      progress,
      manifests: wholes,
      namespace: wanted.namespace,
      version,
      configured: flags.config !== undefined,
      mode: { wanted: wanted.mode, said: flags.mode !== undefined },
      observes,
      trialNamespace: flags['trial-namespace'],
      dryRun: flags['dry-run'],
      force: flags.force,
      signal,
    }
    await apply(installation)
    if (!flags['dry-run'] && !observes && delivery !== 'shell') {
      const { tryWaiter } = await import('../check/installation/waiter-image.ts')
      const doubt = await tryWaiter({ objects, progress, signal, namespace: wanted.namespace }, configuration.waiter)
      if (doubt !== undefined) say('sidecar-first', [doubt])
    }
    if (!flags['dry-run']) await awaitParts(installation)
    terminal.stdout.write(next(wanted, flags['dry-run']))
    return 0
  },
})

/** The cluster's version and nodes, and what it can do. @throws ExpectedError if it is too old */
async function lookAt(cluster: Connected) {
  const { version, nodes } = await survey(cluster)
  const ability = abilityOf(
    version,
    nodes.flatMap(({ status }) => status?.nodeInfo ?? []),
  )
  const { dropsLock } = await import('../check/installation/lock.ts')
  const drops = await dropsLock(cluster.objects, ability.kubernetesVersion)
  const found: Ability & Found = { ...ability, lock: drops ? 'off' : undefined }
  return { version, nodes, found }
}

/** The API server would refuse one only when it has stored half of the objects. */
function imageName(flag: string, text: string): string {
  if (imageForm.test(text)) return text
  throw new UsageError('flag-value', `${flag} takes the name of an image, such as r.example/sf:1, not ${quote(text)}`)
}

function secretName(flag: string, text: string): string {
  if (text.length <= 253 && /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(text)) return text
  throw new UsageError('flag-value', `${flag} takes the name of a Secret: a-z, 0-9, - and ., at most 253`)
}

/** What the flags ask for. @throws UsageError */
async function wantedBy(flags: Flags): Promise<Wanted> {
  const { namespace, replicas, image, gate, lock, config } = flags
  return {
    mode: flags.mode ?? 'namespace-opt-in',
    namespace,
    replicas,
    image,
    pullSecret: flags['image-pull-secret'],
    waiterImage: flags['waiter-image'],
    gate,
    lock,
    configuration: config === undefined ? undefined : await readText(config),
    certManager: flags['cert-manager'],
    parts: partNames.filter((part) => flags[part]),
  }
}

/** @throws UsageError where an image would be pulled by a name that isn't the user's */
function requireImages(
  wanted: Wanted,
  waiter: Configuration['waiter'],
  nodes: readonly V1Node[] | undefined,
  file: string | undefined,
): void {
  const waiterFlag = file === undefined ? '--waiter-image' : `waiter.image in ${file} (or --waiter-image)`
  const standard = defaultConfiguration(version).waiter.image
  const chosen = wanted.waiterImage ?? waiterImageOf(wanted.configuration ?? '')
  const ours = [
    ...(wanted.image === undefined ? [{ flag: '--image', image: standardImage(version) }] : []),
    ...(chosen === undefined && waiter.delivery !== 'shell' ? [{ flag: waiterFlag, image: standard }] : []),
  ]
  const missing = ours.filter(({ image }) => unowned([image], nodes).length > 0)
  if (missing.length === 0) return
  const flags = missing.map(({ flag }) => flag).join(' and ')
  throw new UsageError(
    'wrong-arguments',
    `${flags} missing: nobody has published ${missing.map(({ image }) => image).join(' and ')} yet, so nodes would run whatever a stranger puts there`,
  )
}

function next({ mode }: Wanted, dryRun: boolean): string {
  if (dryRun) return 'Nothing was stored.\n'
  const label = `kubectl label namespace NAME ${objectKeys.injection}=enabled`
  return mode === 'namespace-opt-in' ? `Done. Now choose a namespace: ${label}\n` : 'Done.\n'
}
