import manifest from '../package.json' with { type: 'json' }

/** This program's version; it stands in the status annotation, in the waiter image's tag and in `--version`. */
export const version: string = manifest.version
