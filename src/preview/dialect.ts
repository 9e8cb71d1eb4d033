import { type CreateNodeOptions, type DocumentOptions, type SchemaOptions, stringify, type ToStringOptions } from 'yaml'

/**
 * YAML as kubectl reads it: 1.1 with merge keys, `yes`, octal `0644` and, from 1.2, `0o644`; but neither times of day nor dates,
 * which it takes for text (sigs.k8s.io/yaml, goyaml.v2/resolve.go).
 */
export const kubectlDialect: SchemaOptions & DocumentOptions = {
  version: '1.1',
  schema: 'yaml-1.1',
  customTags: (tags) => [
    ...tags.filter(
      (tag) =>
        typeof tag === 'string' ||
        (tag.format !== 'TIME' && !/:(timestamp|binary|omap|pairs|set)$/.test(tag.tag ?? '')),
    ),
    'intOct',
  ],
}

/** A value as YAML in which all that any reader might take for something else than text is quoted. */
export function writeYaml(value: unknown, options: ToStringOptions & CreateNodeOptions = {}): string {
  return stringify(value, {
    version: '1.1',
    customTags: (tags) => [...tags, 'intOct'],
    lineWidth: 0,
    aliasDuplicateObjects: false,
    ...options,
  })
}
