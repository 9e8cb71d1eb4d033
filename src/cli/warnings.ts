import type { Warning } from '../admission/warning.ts'

/** Whether somebody should act on it: mere costs, which the default way of the waiter into a pod has always, are none of those. */
export const isGrave = ({ severity }: Warning): boolean => severity !== 'costs'
