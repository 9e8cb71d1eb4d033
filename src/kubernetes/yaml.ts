import {
  type CreateNodeOptions,
  Document,
  type DocumentOptions,
  isScalar,
  type ScalarTag,
  type SchemaOptions,
  type ToStringOptions,
  visit,
} from 'yaml'

/** Text like `.` and `e2`, which the library takes for a number without digits. */
const notANumber: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: true,
  test: /^[-+]?[._]+(?:[eE][-+]?[0-9]+)?$|^[-+]?[eE][-+]?[0-9]+$|^[-+]?0[bx]_+$/,
  resolve: (text) => text,
}

/**
 * YAML as kubectl reads it: 1.1 with merge keys, `yes`, octal `0644` and, from 1.2, `0o644`; but neither times of day nor dates,
 * which it takes for text (sigs.k8s.io/yaml, goyaml.v2/resolve.go).
 */
export const kubectlDialect: SchemaOptions & DocumentOptions = {
  version: '1.1',
  schema: 'yaml-1.1',
  customTags: (tags) => [
    notANumber,
    ...tags.filter(
      (tag) =>
        typeof tag === 'string' ||
        (tag.format !== 'TIME' && !/:(timestamp|binary|omap|pairs|set)$/.test(tag.tag ?? '')),
    ),
    'intOct',
  ],
}

/** A value as YAML, with quotes around text that any reader might take for something else. */
export function writeYaml(value: unknown, options: ToStringOptions & CreateNodeOptions = {}): string {
  const document = new Document(value, {
    version: '1.1',
    // The tag for merge keys would write the key `<<` plainly, and so as a merge.
    customTags: (tags) => [
      ...tags.filter((tag) => tag !== 'merge' && (typeof tag === 'string' || !tag.tag?.endsWith(':merge'))),
      'intOct',
    ],
    aliasDuplicateObjects: false,
    ...options,
  })
  visit(document, {
    Pair(_, { key }) {
      if (isScalar(key) && key.value === '<<') key.type = 'QUOTE_SINGLE'
    },
  })
  return document.toString({ lineWidth: 0, ...options })
}
