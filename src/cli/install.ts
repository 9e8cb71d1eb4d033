import { parseArgs } from 'node:util'
import { parseDuration } from '../admission/duration.ts'
import { gates } from '../configuration/choices.ts'
import type { Manifest } from '../install/apply.ts'
import { connect, survey } from '../install/connect.ts'
import { InstallError } from '../install/error.ts'
import { manifests } from '../install/manifests.ts'
import { abilityOf } from '../install/nodes.ts'
import { createProgress } from '../install/progress.ts'
import { partNames, render, standardNamespace, textOf, type Wanted } from '../install/render.ts'
import { ClusterError } from '../kubernetes/failure.ts'
import { version } from '../version.ts'
import { installModes } from '../webhooks/configurations.ts'
import { type Command, UsageError } from './command.ts'
import { readText } from './files.ts'
import { oneOf, wholeNumber } from './flag.ts'
import { interrupted } from './interrupted.ts'
import { checkNamespace } from './namespace.ts'

const help = `Prints what a cluster needs, or applies it and waits until a pod has been patched. Again is an upgrade.

Usage: sidecar-first install [flags]

  --apply                    apply it, with the rights of your kubeconfig, and wait until it works
  --dry-run                  with the API server's word on each object, but nothing stored
  --context NAME             the kubeconfig's context (default: its current one, with --apply). Without --apply, nothing is
                             asked of a cluster, and what is printed fits every one from 1.30 on, unless you name it here

  --mode MODE                namespace-opt-in (default): namespaces labelled sidecar-first.dev/injection: enabled, and no pod
                             starts unseen there; cluster-wide: all but those labelled disabled, and pods start in an outage
  -n, --namespace NAME       where it runs, a namespace of its own (default: sidecar-first)
  --replicas COUNT           of what answers the API server (default: 2)
  --image IMAGE              where your nodes pull the server (default: docker.io/sidecar-first/sidecar-first:VERSION)
  --image-pull-secret NAME   a Secret in that namespace for pulling it
  --waiter-image IMAGE       where your pods pull the waiter, with secrets of their own
  --config FILE              the configuration; what it leaves out is set by the cluster's oldest node
  --gate GATE                hook, native or auto: the configuration's default
  --cert-manager             cert-manager makes the certificate
  --preview, --monitoring    also the preview; a PodMonitor, alerts and a dashboard
  --rollouts                 also what upgrades sidecars in place

  --timeout DURATION         how long to wait (5m, at most 10m)
  --trial-namespace NAME     where the pod is tried out, in a dry run (default: a namespace made for it, and removed)
  --force                    take fields that others own, go back to an older version, replace a configuration

Example: sidecar-first install --mode cluster-wide | kubectl apply --server-side -f -
`

const options = {
  apply: { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
  context: { type: 'string' },
  mode: { type: 'string' },
  namespace: { type: 'string', short: 'n', default: standardNamespace },
  replicas: { type: 'string' },
  image: { type: 'string' },
  'image-pull-secret': { type: 'string' },
  'waiter-image': { type: 'string' },
  config: { type: 'string' },
  gate: { type: 'string' },
  'cert-manager': { type: 'boolean', default: false },
  preview: { type: 'boolean', default: false },
  monitoring: { type: 'boolean', default: false },
  rollouts: { type: 'boolean', default: false },
  timeout: { type: 'string', default: '5m' },
  'trial-namespace': { type: 'string' },
  force: { type: 'boolean', default: false },
} as const

type Flags = ReturnType<typeof parseArgs<{ options: typeof options }>>['values']

export const install: Command = {
  help,
  async run(args, terminal) {
    const { values: flags } = parseArgs({ args: [...args], options })
    const applies = flags.apply || flags['dry-run']
    const wanted = await wantedBy(flags)
    const timeout = parseDuration(flags.timeout)
    if (!timeout.ok) throw new UsageError(`--timeout: ${timeout.problem}`)
    try {
      const cluster = applies || flags.context !== undefined ? await connect(flags.context) : undefined
      const surveyed = cluster && (await survey(cluster))
      const found = surveyed && abilityOf(surveyed.version, surveyed.nodes)
      const rendered = render(manifests, version, { ...wanted, found, rolls: applies })
      const file = flags.config ?? 'the configuration'
      if (!rendered.ok) {
        const lines = rendered.problems.map(({ line, column, message }) => `${file}:${line}:${column}: ${message}\n`)
        terminal.stderr.write(lines.join(''))
        return 1
      }
      const { documents, configuration, notices } = rendered
      for (const notice of notices) terminal.stderr.write(`${file}: ${notice}\n`)
      if (!applies || cluster === undefined) {
        terminal.stdout.write(textOf(documents))
        return 0
      }
      const { delivery } = configuration.waiter
      const because = delivery === found?.delivery ? found.because : 'the configuration says so'
      terminal.stdout.write(`${cluster.context}, ${cluster.server}: Kubernetes ${surveyed?.version}\n`)
      terminal.stdout.write(`the waiter comes by ${delivery}: ${because}\n`)
      const { apply } = await import('../install/install.ts')
      const { objects } = cluster
      const progress = createProgress(terminal.stdout)
      const signal = AbortSignal.any([AbortSignal.timeout(timeout.value), interrupted()])
      const observes = configuration.mode === 'observe'
      await apply({
        objects,
        progress,
        manifests: documents.map((document): Manifest => document.toJS()),
        namespace: wanted.namespace,
        version,
        configured: flags.config !== undefined,
        mode: { wanted: wanted.mode, said: flags.mode !== undefined },
        observes,
        trialNamespace: flags['trial-namespace'],
        dryRun: flags['dry-run'],
        force: flags.force,
        signal,
      })
      if (!flags['dry-run'] && !observes && delivery !== 'shell') {
        const { tryWaiter } = await import('../install/try-waiter.ts')
        const doubt = await tryWaiter({ objects, progress, signal, namespace: wanted.namespace }, configuration.waiter)
        if (doubt !== undefined) terminal.stderr.write(`sidecar-first: ${doubt}\n`)
      }
      terminal.stdout.write(next(wanted, flags['dry-run']))
      return 0
    } catch (error) {
      if (!(error instanceof InstallError || error instanceof ClusterError)) throw error
      terminal.stderr.write(`sidecar-first: ${error.message}\n`)
      return 1
    }
  },
}

/** What the flags ask for. @throws UsageError */
async function wantedBy(flags: Flags): Promise<Wanted> {
  const { namespace, replicas, gate, config } = flags
  checkNamespace(namespace)
  return {
    mode: oneOf('--mode', flags.mode ?? 'namespace-opt-in', installModes),
    namespace,
    replicas: replicas === undefined ? undefined : wholeNumber('--replicas', replicas, 1, 999),
    image: flags.image,
    pullSecret: flags['image-pull-secret'],
    waiterImage: flags['waiter-image'],
    gate: gate === undefined ? undefined : oneOf('--gate', gate, gates),
    configuration: config === undefined ? undefined : await readText(config),
    certManager: flags['cert-manager'],
    parts: partNames.filter((part) => flags[part]),
  }
}

function next({ mode }: Wanted, dryRun: boolean): string {
  if (dryRun) return 'Nothing was stored.\n'
  const label = 'kubectl label namespace NAME sidecar-first.dev/injection=enabled'
  return mode === 'namespace-opt-in' ? `Done. Now choose a namespace: ${label}\n` : 'Done.\n'
}
