import { define, tell } from '../admission/words/define.ts'
import type { Values } from '../admission/words/values.ts'

const [ok, warning, problem] = [define('ok'), define('warning'), define('problem')]

const object = 'Deployment shop/web'
const place = 'k8s/web.yaml:12'
const write = 'Write the lines that the scan names by hand.'

/** What becomes of a workload, or of a file, where a scan writes its lines into manifests. */
export const fixes = {
  written: ok('SF961', {
    example: { place, object, lines: ['sidecar-first.dev/sidecars: envoy'] },
    text: ({ place, object, lines }) => `${place}: ${object}: added ${lines.join(', ')}`,
  }),
  'there-already': ok('SF962', {
    example: { place, object },
    text: ({ place, object }) => `${place}: ${object} has its lines already; apply it`,
  }),
  'says-otherwise': problem('SF963', {
    example: { place, object, key: 'sidecar-first.dev/sidecars' },
    text: ({ place, object, key }) => `${place}: ${object} is left as it is: it says something else in ${key}`,
    means: 'What somebody wrote into the annotation is not overwritten.',
    next: 'See which of the two is right; `sidecar-first preview -f FILE` shows what the file would do.',
  }),
  'no-file': problem('SF964', {
    example: { object },
    text: ({ object }) => `no file has ${object}`,
    means: 'No manifest in that folder has its kind, namespace and name. A Helm chart or an operator may make it.',
    next: 'Write the lines into what makes it, such as the values of its chart.',
  }),
  'several-files': problem('SF965', {
    example: { object, places: [place, 'k8s/old.yaml:3'] },
    text: ({ object, places }) => `${object} stands in several places, and none was changed: ${places.join(', ')}`,
    means: 'Which of them makes the pods is not known, so none of them was written.',
    next: 'Name the folder with the right one, or leave the others out with `--exclude`.',
  }),
  'not-written': problem<{ place: string; why: keyof typeof whys; detail?: string }>('SF966', {
    example: { place: 'charts/web/templates/web.yaml', why: 'helm' },
    text: ({ place, why, detail }) =>
      `${place} can't be changed: ${whys[why]}${detail === undefined ? '' : `: ${detail}`}`,
    means: 'The file is as it was.',
    next: write,
  }),
  'own-check-needed': problem('SF967', {
    example: { object },
    text: ({ object }) => `${object}: nothing was written, since its lines alone wouldn't hold the app back`,
    means: 'The check depends on how the sidecar is configured, which its manifest does not show.',
    next: 'See whether the line that the scan marks as conditional is right, and write it with the others.',
  }),
  'fixed-none': warning('SF968', {
    text: 'no workload has a line to write',
    means: 'The scan names no annotation that would help.',
    next: 'Nothing.',
  }),
}

/** Why a file stays as it is. */
const whys = {
  helm: "it is a template of Helm, which isn't YAML; write the lines into what it makes the annotations from",
  generated: 'it says that it is generated; change what generates it',
  link: 'it is a link to a file outside the folder',
  form: 'its lines depend on anchors, or are written in a form whose formatting would be lost',
  review: 'it is an AdmissionReview, not a manifest',
  unreadable: "it can't be read",
  unwritable: "it can't be written",
  changed: 'it has been changed meanwhile; run it again',
} as const

export type Fix = Values<typeof fixes>
export type WhyNot = keyof typeof whys

export const fixText = (fix: Fix) => tell(fixes, fix)
