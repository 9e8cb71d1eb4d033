import { type Configuration, defaultConfiguration } from '../admission/intent/configuration.ts'
import { remarkText } from '../configuration/faults.ts'
import { readConfiguration } from '../configuration/read.ts'
import { version } from '../version.ts'
import { FileError, readText } from './files.ts'

/** The configuration in a file, or the default without one. @throws UsageError, FileError with all problems */
export async function readConfigurationFile(path: string | undefined): Promise<Configuration> {
  if (path === undefined) return defaultConfiguration(version)
  const read = readConfiguration(await readText(path), version)
  if (read.ok) return read.configuration
  throw new FileError(read.problems.map((problem) => remarkText(path, problem)))
}
