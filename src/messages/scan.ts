import type { Said } from '../scan/words.ts'
import type { FindingEntries } from './entry.ts'

const amount = { some: 7, all: 12 }
const today = { app: 'app', sidecar: 'istio-proxy' }
const early = { why: 'crashed', sidecars: ['istio-proxy'] } as const
const lacking = { sidecar: 'istio-proxy', why: 'crashed', message: 'exit code 1' } as const
const stuck = { why: 'startup-probe', container: 'istio-proxy', sidecars: ['istio-proxy'], since: undefined } as const
const line = 'Write the line that the scan names into the pod template, where sidecar-first is installed.'

/** What `scan` says. */
export const scans: FindingEntries<Said> = {
  unguarded: {
    means: 'The kubelet starts the app whether the sidecar is ready or not. The spec alone shows it.',
    example: { ...today, order: 'app-first' },
    next: line,
  },
  'late-hook': {
    means: 'Its hook holds back only what is listed behind it, and the app stands in front.',
    example: today,
    next: line,
  },
  'unknown-hook': {
    means: 'No preset knows the command of that PostStart hook: it may wait, or do something else.',
    example: today,
    next: 'Read the hook. If it does not wait, write the line that the scan names.',
  },
  'startup-probe': {
    means: 'The app waits, until the next time that the kubelet asks the startupProbe.',
    example: { ...today, every: 10 },
    next: 'Nothing has to be mended; the lines that the scan names have the kubelet ask every second.',
  },
  'not-yet-there': {
    means: 'In a manifest, only an annotation or label shows that an injector will add the sidecar.',
    example: { ...today, key: 'sidecar.istio.io/inject' },
    next: 'Scan the cluster, where the pods are as they run.',
  },
  'own-hook': { example: today },
  ours: { example: today },
  asked: { example: today },
  prepared: { example: { ...today, sidecar: 'vault-agent', init: 'vault-agent-init' } },
  'started-later': {
    means: "Sure. The pods' status says when each container started, to the second, by the clock of one node.",
    example: { ...amount, sidecar: 'istio-proxy', ms: 3000 },
    next: line,
  },
  'probe-failed': {
    means:
      'Sure. An event of the kubelet says that a startupProbe or readinessProbe failed after the app had started, within two minutes and before the pod was ready.',
    example: { ...amount, sidecar: 'istio-proxy', ms: 4000 },
    next: line,
  },
  'opened-early': {
    means:
      'Sure. Something should have held the app back and did not. It may work by now; what it did first may have failed.',
    example: { ...amount, early },
    next: '`sidecar-first timeline pod/NAME` shows one such start; docs/check.md lists what opens a gate.',
  },
  'runs-without': {
    means: 'Sure. The app runs while a sidecar of its does not, at this moment.',
    example: { ...amount, lacking },
    next: "Look at the sidecar's log: `kubectl logs NAME -c SIDECAR --previous`.",
  },
  'held-up': {
    means: 'Sure. The app has not started, because the sidecar does not end or get ready.',
    example: { ...amount, stuck },
    next: '`sidecar-first check pod/NAME` says what to do.',
  },
  'app-failed': {
    means:
      'Probable, not proven: nothing waits for the sidecar, and the app ended with an error within a minute of its first start and ran at the second. An app that was killed for its memory does not count.',
    example: { ...amount, app: 'app', exitCode: 1, ms: 6000, ran: true, sidecars: ['istio-proxy'] },
    next: 'Look at its first log, `kubectl logs NAME -c APP --previous`: refused connections confirm it. Then write the line that the scan names.',
  },
  'events-gone': {
    means:
      'A cluster keeps events for an hour, unless its API server says otherwise. Whether a probe failed then is not known.',
    example: amount,
    next: 'Restart a pod of it and scan again within the hour.',
  },
  restarted: {
    means: 'A status has the last run of a container and the one before, so the first start is lost.',
    example: { ...amount, app: 'app' },
    next: 'Look at why it restarts; then scan again.',
  },
  'other-clock': {
    means:
      "Times are only compared within one node's clock. These warnings come from another node, or not from a kubelet.",
    example: amount,
    next: 'Nothing.',
  },
  'still-starting': { means: 'It is too early to say.', example: amount, next: 'Scan again in a minute.' },
  'no-events': {
    means: 'The right to list events is missing. Whether probes of sidecars failed is not known.',
    next: 'Get the right to list events, and scan again.',
  },
  'warnings-cut': {
    means: 'So many warnings are read, to bound memory and calls. Of some workloads more may have been to see.',
    example: { most: 20_000 },
    next: 'Scan namespace by namespace, with `-n`.',
  },
  'clock-behind': {
    means: 'A kubelet saw a pod before the API server had created it, by their clocks.',
    example: { node: 'node-1', seconds: 40, others: 1 },
    next: 'Synchronise the clocks of the nodes; certificates and tokens depend on them, too.',
  },
  'list-expired': {
    means:
      'The API server had forgotten what its pods were like when the list began (410 Gone). The rest was read as it was then.',
    next: 'Scan again if the numbers matter.',
  },
  'pods-too-large': {
    means: 'No pod that anybody needs has so many containers, and the webhook refuses to look at them, too.',
    example: { pods: 1, most: 512 },
    next: 'Look at what made it.',
  },
  'nothing-known': { example: { workloads: 12 } },
  'manifests-only': {
    means: 'A manifest shows the order and the gate, and nothing of what has happened.',
    next: 'Scan the cluster: `sidecar-first scan`.',
  },
  'asked-in-vain': {
    means: 'The pod template has the annotation, and the pods run without the order.',
    next: '`sidecar-first check -n NAMESPACE pod/NAME` says why: most often no webhook is installed, or the namespace is not selected.',
  },
  'asked-otherwise': {
    means:
      'Neither the annotation of a manifest nor a rule names the sidecar, or what the webhook would make of it does not wait. A pod that asks is judged as the webhook would patch it.',
    example: { sidecars: ['istio-proxy'], why: ['SF106 every container is a sidecar'] },
    next: 'Correct the annotations as the quoted message says, or name the sidecar; `sidecar-first preview -f FILE` shows the outcome.',
  },
  'no-line': {
    means: 'Every line that was tried would not help, or would keep the app from starting.',
    example: { why: ['SF106 every container is a sidecar'] },
    next: 'See the message that is quoted.',
  },
}
