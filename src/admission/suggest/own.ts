import type { Preset } from '../intent/presets.ts'

/** What a container is that somebody calls a sidecar and no preset knows: nothing is known of it but what its manifest shows. */
export const ownPreset: Preset = {
  name: 'own',
  title: 'no preset',
  containers: [],
  images: [],
  imageIsShared: false,
  helpers: [],
  askedFor: [],
  askedByNamespace: [],
  preparedBy: undefined,
  ready: 'its own probe passes',
  check: { kind: 'probe', probe: 'either' },
  explicit: undefined,
  // Behind all that presets know: it may need those.
  tier: 50,
  meshProxy: false,
  ownHook: undefined,
  deadlocks: [],
  traps: [],
  source: '',
}
