// The thread in which a configuration is read while the server goes on answering: ten thousand rules take more than a second.
import { parentPort, workerData } from 'node:worker_threads'
import type { Part, Sent } from './apart.ts'
import { readConfiguration } from './read.ts'

/** The answering thread, which can do nothing else meanwhile, reads so many in a few ms. */
const rulesInPart = 500

const { text, version } = workerData as Sent
const send = (part: Part) => parentPort?.postMessage(part)

const outcome = readConfiguration(text, version)
if (!outcome.ok) send({ kind: 'problems', problems: outcome.problems })
else {
  const { rules: index, ...rest } = outcome.configuration
  const { rules, byName, byImage, byLabel, ...small } = index
  for (let at = 0; at < rules.length; at += rulesInPart) {
    send({ kind: 'rules', rules: rules.slice(at, at + rulesInPart) })
  }
  send({ kind: 'index', index: { byName } })
  send({ kind: 'index', index: { byImage } })
  send({ kind: 'index', index: { byLabel, ...small } })
  send({ kind: 'end', configuration: rest, notices: outcome.notices })
}
