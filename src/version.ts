import manifest from '../package.json' with { type: 'json' }

/** This program's version; it stands in the status annotation, in the waiter image's tag and in `--version`. */
export const version: string = manifest.version

/** Where the repository can be read, once it stands in package.json. */
export const homepage: string | undefined = (manifest as { readonly homepage?: string }).homepage
