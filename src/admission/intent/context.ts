import type { Surroundings } from '../pod/surroundings.ts'
import type { Configuration } from './configuration.ts'

/** What a pod is judged by besides its manifest. */
export interface Context {
  readonly configuration: Configuration
  readonly surroundings: Surroundings
}
