import { define, wordsFor } from '../admission/words/define.ts'
import { keys } from '../admission/words/keys.ts'
import { printable } from '../admission/words/printable.ts'
import type { Code, Values } from '../admission/words/values.ts'
import { listed as inText } from './listed.ts'

const listed = (files: readonly string[]) => files.join(', ')
const note = define('note')

/** What is said of files and flags where nothing is wrong. */
export const notices = {
  'nothing-in-it': note('SF416', {
    example: { files: ['standard input'] },
    text: ({ files }) => `there is no manifest in ${listed(files)}`,
    means: 'The files hold no Kubernetes object, such as a chart that renders nothing. That is not an error.',
    next: 'If there should be one, look at what writes the files.',
  }),
  'passed-over': note('SF417', {
    example: { files: ['k8s/values.yaml'] },
    text: ({ files }) => `no manifests, passed over: ${listed(files)}`,
    means: 'A folder or a glob also stands for files without a Kubernetes object, such as the values of a chart.',
    next: 'Nothing. A file that is named itself is never passed over.',
  }),
  excluded: note('SF418', {
    example: { files: ['k8s/templates'] },
    text: ({ files }) => `excluded: ${listed(files)}`,
    means: '`--exclude` leaves these files and folders out.',
    next: 'Nothing, if that is what was meant.',
  }),
  'templates-below': note('SF419', {
    text: "to leave a chart's templates out: --exclude templates",
    means: 'Below the folder are Helm templates, which are not YAML before they are rendered.',
    next: 'Call it again with `--exclude templates`, or pipe in what `helm template` renders.',
  }),
  'sidecars-nowhere': note('SF420', {
    example: { sidecars: 'istoi-proxy' },
    text: ({ sidecars }) => `--sidecars: no pod here has ${printable(sidecars, 200)}`,
    means: 'What `--sidecars` would try has no effect: no container has one of these names.',
    next: 'Correct the names.',
  }),
  'nothing-to-suggest': note('SF421', {
    text: `nothing to suggest: no pod without ${keys.sidecars} has a sidecar that a preset knows`,
    means: '`--suggest` adds annotations to pods without any that have a well-known sidecar, and none of these is one.',
    next: 'Write the annotation yourself: docs/annotations.md.',
  }),
  'assumed-version': note('SF680', {
    example: { version: '1.36' },
    text: ({ version }) => `for Kubernetes ${version}; --kubernetes-version for another`,
    means:
      'Neither a flag nor the configuration says a version, so the preview is for the newest. From 1.35 on the app is locked.',
    next: 'Name the version of your oldest node with `--kubernetes-version`, or as `kubernetesVersion` in the configuration.',
  }),
  'without-lock': note('SF681', {
    example: { version: '1.36' },
    text: ({ version }) => `not locked: --kubernetes-version ${version} locks the app, if all nodes have that version`,
    means:
      'Neither a flag nor the configuration says a version. API servers before 1.35 refuse what locks an app, so it is left out, of at least one object.',
    next: 'Name the version of your oldest node with `--kubernetes-version`, or as `kubernetesVersion` in the configuration.',
  }),
}

/** What is said of a pod's end where nothing is wrong with its start. */
export const endings = {
  'ends-together': note('SF682', {
    example: { sidecars: ['envoy'], apps: ['shop'] },
    text: ({ sidecars, apps }) =>
      `when the pod ends, ${inText(sidecars)} and ${inText(apps)} get SIGTERM together: what the app still sends may fail; with end: last, sidecars end last`,
    means:
      'A regular sidecar ends with its app, as without sidecar-first. An app that drains through its sidecar loses what it sends once the sidecar is gone.',
    next: 'If the app sends anything while it drains, take `end: last` or `gate: native`, or give the sidecar a preStop that lasts as long: docs/guides/ending.md.',
  }),
  'prestop-at-once': note('SF683', {
    example: { sidecars: ['envoy'], apps: ['shop'] },
    text: ({ sidecars, apps }) =>
      `when the pod ends, the preStop of ${inText(sidecars)} runs at once, beside ${inText(apps)}: only its SIGTERM waits`,
    means:
      'The kubelet runs the preStop of a native sidecar together with all others, and has only SIGTERM wait for the app.',
    next: 'Take `end: last`, or leave a preStop out that stops the sidecar: SIGTERM comes when the app has ended. docs/guides/ending.md',
  }),
}

export type Ending = Values<typeof endings>

export const endingCode = ({ kind }: Ending): Code => endings[kind].code

export const endingText = (ending: Ending): string => printable(wordsFor(endings, ending), 4096)

export type FileNotice = Values<typeof notices>

export const fileNoticeCode = ({ kind }: FileNotice): Code => notices[kind].code

/** A folder can have thousands of files, and anybody may have named them. */
export const fileNoticeText = (notice: FileNotice): string => printable(wordsFor(notices, notice), 4096)
