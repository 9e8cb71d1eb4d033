import type { Logger } from 'pino'
import type { Inform } from '../terminal/log.ts'
import type { Certificate } from './certificate.ts'
import type { LiveConfiguration } from './configuration.ts'
import type { Connections } from './connections.ts'
import type { InFlight } from './in-flight.ts'
import type { Readiness } from './readiness.ts'
import type { Tallies } from './tally.ts'
import type { Turns } from './turns.ts'

/** What there is once in a server, and what answers requests needs of it. */
export interface Serving {
  readonly configuration: LiveConfiguration
  readonly certificate: Certificate
  readonly connections: Connections
  /** These two bound the work that requests can cause together. */
  readonly inFlight: InFlight
  readonly turns: Turns
  readonly tallies: Tallies
  readonly readiness: () => Promise<Readiness>
  /** Whether previews are served. */
  readonly preview: boolean
  readonly log: Logger
  readonly inform: Inform
}
