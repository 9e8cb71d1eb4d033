import type { Code } from '../src/admission/words/values.ts'

/** The public codes that `check` and `rollout` share. */
export const rolloutCodes = { none: 'SF802', unseen: 'SF803', failed: 'SF804' } as const satisfies Record<string, Code>
