// The floor for comparison: a plain node:https handler that parses the review and answers with a fixed patch.
// node bare.ts CERT KEY ANSWER: `ANSWER` is a file with the AdmissionReview to send; only its uid is replaced.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'

const [cert = '', key = '', answer = ''] = process.argv.slice(2)
const fixed = JSON.parse(readFileSync(answer, 'utf8'))

const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    if (request.method === 'GET') {
      response.end('{}')
      return
    }
    const review = JSON.parse(Buffer.concat(chunks).toString())
    const body = JSON.stringify({ ...fixed, response: { ...fixed.response, uid: review.request.uid } })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    response.end(body)
  })
})
server.keepAliveTimeout = 100_000
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`bare serves on https://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
