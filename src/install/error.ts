/** Why an installation can't go on, in words for whoever called it. */
export class InstallError extends Error {}
