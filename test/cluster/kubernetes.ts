import { readFileSync } from 'node:fs'

/** The Kubernetes of the node; K8S names an older one than the newest. */
export const kubernetesVersion = process.env.K8S || '1.36'
export const minor = Number(kubernetesVersion.split('.')[1])

/** Variables from a file, which lock an app. Without them the API server drops the field, and refuses what is left. */
export const hasLock = minor >= 35
/** What the API server then says. */
export const lockRefused = /valueFrom: Invalid value: "": must specify one of: `fieldRef`/
/** A port-forward wants the right to create it, not only to get it. */
export const forwardsAreCreated = minor >= 35
/** Volumes of the type image. Without them the API server drops the field, and refuses what is left. */
export const hasImageVolumes = minor >= 35
/** MutatingAdmissionPolicies. Before 1.36 they are a beta, which an API server needs flags for: the same as a node's. */
export const mutatingPolicies =
  minor >= 36
    ? { apiVersion: 'admissionregistration.k8s.io/v1', flags: [] }
    : { apiVersion: 'admissionregistration.k8s.io/v1beta1', flags: nodeFlags() }

function nodeFlags(): string[] {
  const file = new URL(`../../scripts/node-${kubernetesVersion}/etc/apiserver-flags`, import.meta.url)
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('--'))
}
