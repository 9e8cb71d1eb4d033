// The thread in which a configuration is read while the server goes on answering: ten thousand rules take more than a second.
import { parentPort, workerData } from 'node:worker_threads'
import { noRules } from '../admission/intent/rule-index.ts'
import type { Part, Sent } from './apart.ts'
import { readConfiguration } from './read.ts'

/** The answering thread, which can do nothing else meanwhile, reads so many in a few ms. */
const rulesInPart = 500

const { text, version } = workerData as Sent
const send = (part: Part) => parentPort?.postMessage(part)

const outcome = readConfiguration(text, version)
if (!outcome.ok) send({ outcome })
else {
  const { rules, byName, byImage, byLabel, ...small } = outcome.configuration.rules
  for (let at = 0; at < rules.length; at += rulesInPart) send({ rules: rules.slice(at, at + rulesInPart) })
  send({ index: { byName } })
  send({ index: { byImage } })
  send({ index: { byLabel, ...small } })
  send({ outcome: { ...outcome, configuration: { ...outcome.configuration, rules: noRules } } })
}
