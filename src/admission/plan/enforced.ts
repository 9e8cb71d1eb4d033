import { waiterDirectory, waiterName, waiterProgram } from '../hook/waiter.ts'
import type { Configuration } from '../intent/configuration.ts'
import { imageTexts, matchesImage, repositoryOf } from '../intent/glob.ts'
import type { Container } from '../pod/pod.ts'
import type { Problem } from '../words/messages.ts'
import { type LineUp, startsNative } from './line-up.ts'
import type { Order } from './order.ts'

/**
 * What would open the gate of an enforced rule: a waiter that isn't the one we write, or an app that hides from it. Elsewhere what is there
 * stays as it is.
 */
export function loopholes(
  lined: LineUp,
  order: Order,
  carriers: readonly Container[],
  { waiter }: Configuration,
): readonly Problem[] {
  if (!lined.intent.enforced) return []
  const hidden = hiddenApp(lined, order)
  if (carriers.length === 0) return hidden
  const { containers, initContainers, volumes } = lined.pod.spec
  const allowed = [repositoryOf(waiter.image), ...waiter.mirrors]
  const isWaiter = (image: string) => {
    const texts = imageTexts(image)
    return image === waiter.image || allowed.some((glob) => matchesImage(glob, texts))
  }
  const installer = initContainers.find(({ name }) => name === waiterName)
  const volume = volumes.find(({ name }) => name === waiterName)
  const problems: Problem[] = []
  if (volume?.image && !isWaiter(volume.imageReference)) {
    problems.push({ kind: 'not-the-waiter', what: 'volume', image: volume.imageReference })
  }
  if (installer !== undefined) {
    if (!isWaiter(installer.image)) {
      problems.push({ kind: 'not-the-waiter', what: 'init container', image: installer.image })
    }
    problems.push(...changedInstaller(installer).map((part) => ({ kind: 'installer-changed', part }) as const))
  }
  for (const container of [...containers, ...initContainers]) {
    if (container === installer) continue
    const { name } = container
    for (const { name: volume, mountPath, readOnly } of container.mountDetails()) {
      if (volume === waiterName && !readOnly) problems.push({ kind: 'waiter-writable', name, at: mountPath })
    }
    if (carriers.includes(container)) problems.push(...coveredWaiter(container))
  }
  return [...problems, ...hidden]
}

/** What of the init container would keep it from installing the waiter's own program. */
function changedInstaller({ args, restartPolicy, mountDetails }: Container): readonly string[] {
  const mounts = mountDetails()
  const over = mounts.filter(({ mountPath }) => isAtOrBelow(mountPath, waiterProgram))
  const inside = mounts.filter(({ mountPath }) => isAtOrBelow(mountPath, waiterDirectory))
  const [target, ...others] = inside
  const installs = target?.name === waiterName && !target.partial && absolute(target.mountPath) === waiterDirectory
  return [
    ...(args.length > 0 ? ['args'] : []),
    ...(restartPolicy !== '' ? ['a restartPolicy'] : []),
    ...over.map(({ mountPath }) => `the mount ${mountPath}`),
    ...others.map(({ mountPath }) => `the mount ${mountPath}`),
    ...(installs ? [] : [`no mount of the whole volume at ${waiterDirectory}`]),
  ]
}

/** What lies over the program that a container's hook runs. */
function coveredWaiter({ name, mountDetails, terminationMessagePath }: Container): readonly Problem[] {
  const covers = mountDetails()
    .filter(({ mountPath }) => isAtOrBelow(mountPath, waiterDirectory))
    .filter(
      (mount, at) =>
        at > 0 || mount.name !== waiterName || mount.partial || absolute(mount.mountPath) !== waiterDirectory,
    )
    .map(({ mountPath }) => mountPath)
  const message = isAtOrBelow(terminationMessagePath, waiterDirectory) ? [terminationMessagePath] : []
  return [...covers, ...message].map((at) => ({ kind: 'waiter-covered', name, at }))
}

/** As the kubelet and the runtime read a path: from the root, without dots. */
function absolute(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

function isAtOrBelow(path: string, directory: string): boolean {
  const full = absolute(path)
  return full === directory || full.startsWith(`${directory}/`)
}

/** Where all regular containers are ruled, the app can only be a restartable init container, and one that starts before the sidecar isn't held. */
function hiddenApp({ tiers, intent, pod: { spec } }: LineUp, { initContainers }: Order): readonly Problem[] {
  const members = tiers.flat()
  const sidecars = new Set(members.map(({ container }) => container))
  if (!spec.containers.every((container) => sidecars.has(container))) return []
  const held = members.filter(({ sidecar }) => sidecar.rule?.enforce)
  return held.slice(0, 1).flatMap((member): Problem[] => {
    const last = startsNative(member, intent) ? initContainers.indexOf(member.container) : initContainers.length
    const app = initContainers.slice(0, last).find((each) => each.restartPolicy === 'Always' && !sidecars.has(each))
    return app === undefined ? [] : [{ kind: 'app-hidden', name: app.name, sidecar: member.sidecar.name }]
  })
}
