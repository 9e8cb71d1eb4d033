import { isMap, parseDocument } from 'yaml'
import type { Delivery, GateChoice, LockChoice } from '../admission/words/choices.ts'

/** What an installation writes into the configuration. */
export interface Settings {
  /** From flags: they win over the file. */
  readonly chosen: Chosen
  /** From the cluster: the file wins over them. */
  readonly found?: Found | undefined
}

export interface Chosen {
  readonly waiterImage?: string | undefined
  readonly gate?: GateChoice | undefined
  readonly lock?: LockChoice | undefined
}

export interface Found {
  readonly kubernetesVersion: string
  readonly delivery: Delivery
  /** Where the API server would refuse locked pods. */
  readonly lock?: 'off' | undefined
}

/** A configuration's text with what it lacks. Comments stay; if nothing is set, so does every byte. */
export function settle(text: string, { chosen, found }: Settings): string {
  const document = parseDocument(text)
  let changed = false
  const set = (path: readonly [string, ...string[]], value: string | undefined, over: boolean) => {
    if (value === undefined || document.getIn(path) === value || (!over && document.hasIn(path))) return
    const [section] = path
    if (path.length > 1 && !isMap(document.get(section))) document.set(section, document.createNode({}))
    document.setIn(path, value)
    changed = true
  }
  set(['waiter', 'image'], chosen.waiterImage, true)
  set(['defaults', 'gate'], chosen.gate, true)
  set(['defaults', 'lock'], chosen.lock, true)
  set(['waiter', 'delivery'], found?.delivery, false)
  set(['kubernetesVersion'], found?.kubernetesVersion, false)
  set(['defaults', 'lock'], found?.lock, false)
  return changed ? document.toString({ lineWidth: 0, flowCollectionPadding: false }) : text
}

/** The waiter's image, if a configuration names one. */
export function waiterImageOf(text: string): string | undefined {
  const image = parseDocument(text).getIn(['waiter', 'image'])
  return typeof image === 'string' ? image : undefined
}

/** Whether a configuration says more than an installation writes, and so is somebody's work. */
export function isCustomised(text: string): boolean {
  const document = parseDocument(text)
  const known = [
    ['apiVersion'],
    ['kind'],
    ['annotations'],
    ['kubernetesVersion'],
    ['waiter', 'image'],
    ['waiter', 'delivery'],
    ['defaults', 'gate'],
    ['defaults', 'lock'],
  ]
  for (const path of known) if (document.hasIn(path)) document.deleteIn(path)
  const rest: Record<string, unknown> = document.toJS() ?? {}
  return Object.values(rest).some(
    (value) => value !== null && !(typeof value === 'object' && Object.keys(value).length === 0),
  )
}
