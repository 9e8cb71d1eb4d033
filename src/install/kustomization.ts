import { posix } from 'node:path'
import { type Document, parse, parseAllDocuments } from 'yaml'
import { kubectlDialect } from '../kubernetes/yaml.ts'

/**
 * The objects of a folder with a `kustomization.yaml`, as YAML documents with their comments, in the order of its `resources`. Nothing else
 * of kustomize is read here; render.ts does what an overlay's patches do.
 * @param files texts by path
 * @throws Error if a file is missing
 */
export function resourcesOf(files: Readonly<Record<string, string>>, path: string): Document[] {
  const kustomization = files[posix.join(path, 'kustomization.yaml')]
  if (kustomization !== undefined) {
    const { resources }: { resources: string[] } = parse(kustomization)
    return resources.flatMap((resource) => resourcesOf(files, posix.join(path, resource)))
  }
  const text = files[path]
  if (text === undefined) throw new Error(`there is no ${path} among the manifests`)
  const documents = parseAllDocuments(text, kubectlDialect)
  if ('empty' in documents) return []
  for (const document of documents) {
    if (document.errors[0]) throw document.errors[0]
    if (document.directives) document.directives.docStart = null
  }
  return [...documents]
}
