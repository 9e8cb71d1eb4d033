import { recognise } from '../admission/suggest/known.ts'

/** Most pods of a cluster are alike: each name and image is compared with the presets once. */
const compared = new Map<string, boolean>()
const mostCompared = 10_000
/** An image's name can be as long as a pod; those that anybody uses are shorter than that. */
const mostName = 512

/** Whether a preset knows a container. */
export function isKnown({ name, image = '' }: { readonly name: string; readonly image?: string }): boolean {
  const key = `${name} ${image}`
  const before = compared.get(key)
  if (before !== undefined) return before
  const known = recognise({ name, image }) !== undefined
  if (key.length <= mostName && compared.size < mostCompared) compared.set(key, known)
  return known
}
