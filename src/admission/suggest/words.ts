import { printable } from '../words/printable.ts'
import { askedText } from '../words/probe-times.ts'
import type { KnownSidecar } from './known.ts'
import type { Why } from './suggest.ts'

/** `istio-proxy (Istio)`, `cache (Envoy, by its image)` */
export function knownText({ name, preset, by }: KnownSidecar): string {
  return `${name} (${preset.title}${by === 'image' ? ', by its image' : ''})`
}

/** What happens to a pod with this sidecar as it is: completes its name. */
export function todayText({ gate, behind, holds }: KnownSidecar): string {
  const waits = 'the app starts without waiting for it'
  const place = behind.length === 0 ? '' : `starts behind ${listed(behind)}`
  switch (gate.kind) {
    case 'none':
      return place === '' ? `starts first, but ${waits}` : `${place}: ${waits}`
    case 'native':
      return 'starts first, but has no startupProbe: the app starts as soon as it runs, ready or not'
    case 'startup-probe':
      return `its startupProbe already holds the app (${askedText(gate)})`
    case 'own-hook':
      if (holds) return 'its own hook already holds the app'
      if (gate.waits) return `${place}, so its own hook holds back nothing: ${waits}`
      return `${place === '' ? 'starts first with' : `${place}, with`} a hook of its own that isn't known to wait`
    case 'sidecar-first':
      return holds
        ? 'sidecar-first holds the app until it is ready'
        : `has a hook of sidecar-first, but ${listed(behind)} ${behind.length === 1 ? 'starts' : 'start'} before that: ${waits}`
    case 'init-container':
      return `${gate.name}, an init container, does its work before the app starts`
    case 'not-yet-there':
      return `is added when the pod is created (${gate.key}); whether the app waits for it is up to its injector, or to a rule`
    default:
      return gate satisfies never
  }
}

/** Why a line is suggested. */
export function whyText(why: Why): string {
  switch (why.kind) {
    case 'order':
      return [
        ...(why.names.length > 0
          ? [`the app starts once ${listed(why.names, ' and then ')} ${be(why.names)} ready`]
          : []),
        ...(why.unwaited.length > 0
          ? [`${listed(why.unwaited)} ${be(why.unwaited)} started first, but not waited for`]
          : []),
      ].join('; ')
    case 'job':
      return `in a Job ${listed(why.names)} would run on as a regular container, and the Job never complete`
    case 'wrong-probe':
      return why.waitsFor === 'app'
        ? `its own probe waits for the app, and the app would wait for it`
        : `its own probe also waits for free connections, and before 2.11.1 for the databases`
    case 'no-probe':
      return `${why.name} has no startupProbe or readinessProbe, and this passes when it is ready`
    case 'not-there-to-probe':
      return `this passes when ${why.name} is ready`
    case 'if-configured':
      return printable(why.trap.replaceAll('`', ''), 1024)
    case 'by-port': {
      const others = why.others.length === 0 ? '' : `; it also declares ${listed(why.others)}`
      return `${why.name} declares port ${why.port}: this passes once it takes connections there, ready or not${others}`
    }
    case 'by-liveness':
      return `its livenessProbe asks this, so it is answered: this passes once ${why.name} lives, ready or not`
    case 'eager':
      return why.delay === undefined
        ? `asked every second instead of every ${why.every} s, for the same total time`
        : `asked every second from its start, for the same total time; now it is ${askedText(why)}`
    default:
      return why satisfies never
  }
}

const be = (names: readonly string[]) => (names.length === 1 ? 'is' : 'are')

/** More names than a line is good for. */
const mostNames = 8

function listed(names: readonly string[], separator = ', '): string {
  const more = names.length - mostNames
  return more > 0 ? `${names.slice(0, mostNames).join(separator)} and ${more} more` : names.join(separator)
}
