/** What holds the app back: our hook on a regular or on a native sidecar, a native sidecar's startupProbe alone, or the lock. */
export const gateForms = ['hook', 'native', 'startupProbe', 'lock'] as const
export type GateForm = (typeof gateForms)[number]

/** As the tables of the docs call it. */
const gateTitles: Readonly<Record<GateForm, string>> = {
  hook: '`gate: hook`',
  native: '`gate: native`',
  startupProbe: '`gate: native`, its startupProbe alone',
  lock: 'either with the lock',
}

type Then =
  | 'opens'
  | 'may open'
  | 'closed'
  | 'closed with the delivery `init-container`, opens with the others'
  | 'closed with the lease, opens without'
  | 'opens after `lock-restarts` (5 s) with the lease, at once without'

/** What opens a gate although the sidecar isn't ready. The docs, the page and previews have it from here. */
interface Opening extends Readonly<Record<GateForm, Then>> {
  /** For tables. */
  readonly when: string
  /** For one line with several. */
  readonly short: string
}

export const openings = {
  crash: {
    when: 'the sidecar crashes or exits before it is ready',
    short: 'it crashes',
    ...{ hook: 'opens', native: 'closed', startupProbe: 'closed', lock: 'closed' },
  },
  'not-started': {
    when: "its start fails, or its image can't be pulled",
    short: "it can't start or be pulled",
    ...{ hook: 'opens', native: 'closed', startupProbe: 'closed', lock: 'closed' },
  },
  fail: {
    when: 'the timeout passes, `on-timeout: fail`',
    short: "it isn't ready in time",
    ...{ hook: 'opens', native: 'closed', startupProbe: 'closed', lock: 'closed' },
  },
  'kubelet-restart': {
    when: 'the kubelet restarts meanwhile',
    short: 'the kubelet restarts meanwhile',
    ...{ hook: 'opens', native: 'opens', startupProbe: 'may open', lock: 'closed' },
  },
  sandbox: {
    when: "the pod's sandbox is recreated, and the sidecar dies before its hook",
    short: "the pod's sandbox is recreated and it dies before its hook",
    hook: 'opens',
    native: 'closed',
    startupProbe: 'closed',
    lock: 'closed with the delivery `init-container`, opens with the others',
  },
  'dies-in-pull': {
    when: "the sidecar was ready, and dies while the app's image is pulled",
    short: "it dies while the app's image is pulled",
    ...{ hook: 'opens', native: 'opens', startupProbe: 'opens', lock: 'closed with the lease, opens without' },
  },
  'later-start': {
    when: "a later container is created, or the app starts again, and the sidecar isn't ready but hasn't restarted",
    short: "it isn't ready when the app starts again",
    ...{ hook: 'opens', native: 'opens', startupProbe: 'opens' },
    lock: 'opens after `lock-restarts` (5 s) with the lease, at once without',
  },
  continue: {
    when: 'the timeout passes, `on-timeout: continue`',
    short: "it isn't ready in time (on-timeout: continue)",
    ...{ hook: 'opens', native: 'opens', startupProbe: 'closed', lock: 'opens' },
  },
} as const satisfies Readonly<Record<string, Opening>>
export type OpeningKind = keyof typeof openings

/** The pod's end, where the same gates differ: docs/guides/ending.md. */
const ends = [
  'the pod ends',
  'app and sidecar get SIGTERM together',
  ...Array(2).fill('the sidecar gets SIGTERM after the app'),
  'as without it',
]

/** As a table in Markdown. */
export function openingsTable(): string {
  const rows = Object.values<Opening>(openings).map((opening) => [
    opening.when,
    ...gateForms.map((form) => opening[form]),
  ])
  const head = ['', ...gateForms.map((form) => gateTitles[form])]
  const lines = [head, head.map(() => '---'), ...rows, ends].map((cells) => `| ${cells.join(' | ')} |`)
  return lines.map((line) => `${line.replace('|  |', '| |').replaceAll(' --- ', '---')}\n`).join('')
}

/** What starts behind a gate that has been open: an app once more, only another container of a pod that never restarts one, or nothing. */
export type Later = 'again' | 'another' | 'none'

/**
 * What opens a gate of this form, in few words. `onTimeout`, `installed`: where the pod decides which of two rows it is. `restarts`: how long a later
 * start waits, with a lease. `later`: what can be one.
 */
export function opensOn(
  form: GateForm,
  onTimeout: 'fail' | 'continue',
  {
    installed,
    restarts,
    later = 'again',
  }: { readonly installed: boolean; readonly restarts: string | undefined; readonly later?: Later },
): readonly string[] {
  return Object.entries<Opening>(openings).flatMap(([kind, opening]) => {
    if ((kind === 'fail' || kind === 'continue') && kind !== onTimeout) return []
    if (kind === 'later-start' && later === 'none') return []
    const short =
      kind === 'later-start' && later === 'another' ? "it isn't ready when a later container starts" : opening.short
    const then = opening[form]
    switch (then) {
      case 'opens':
        return [short]
      case 'may open':
        return [`${short} (not always)`]
      case 'closed':
        return []
      case 'closed with the delivery `init-container`, opens with the others':
        return installed ? [] : [short]
      case 'closed with the lease, opens without':
        return restarts === undefined ? [short] : []
      case 'opens after `lock-restarts` (5 s) with the lease, at once without':
        if (restarts === 'always') return []
        return [
          restarts === undefined || restarts === '0s' ? short : short.replace('ready', `ready within ${restarts}`),
        ]
      default:
        return then satisfies never
    }
  })
}
