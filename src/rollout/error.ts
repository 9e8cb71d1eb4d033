/** Why a rollout command can't do what was asked, in words for whoever called it. */
export class RolloutError extends Error {}
