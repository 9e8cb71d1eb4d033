import type { ExistingHookPolicy, GateChoice, NativePosition, OnTimeout } from '../admission/configuration.ts'

/** What the keys take that the defaults and a rule share. */
export const timeoutActions: readonly OnTimeout[] = ['fail', 'continue']
export const gates: readonly GateChoice[] = ['hook', 'native', 'auto']
export const nativePositions: readonly NativePosition[] = ['last', 'first']
export const existingHooks: readonly ExistingHookPolicy[] = ['chain', 'keep', 'refuse']
