// node warm.mjs PROGRAM CACHE: runs the server briefly, as in a cluster, so that V8 writes what it has compiled into a folder. Part of building
// the image.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:https'

const [, , program, cache] = process.argv
const dir = mkdtempSync('/tmp/pair-')
spawnSync(process.execPath, [program, 'certs', 'issue', '--dir', dir], { stdio: 'inherit' })
const pair = ['--cert', `${dir}/tls.crt`, '--key', `${dir}/tls.key`]
// With one seed for the hashes of strings, the same code gives the same bytes. V8 accepts them whatever the seed of a later run.
const server = spawn(process.execPath, ['--random-seed=1', program, 'serve', '--port', '0', '--drain', '0s', ...pair], {
  stdio: ['pipe', 'pipe', 'inherit'],
  env: { NODE_COMPILE_CACHE: cache },
})
let output = ''
server.stdout.on('data', (text) => {
  output += text
  const [, address] = /serves on (https:[^"\s]+)/.exec(output) ?? []
  if (!address) return
  output = ''
  get(`${address}/readyz`, { rejectUnauthorized: false }, (response) => {
    response.resume().on('end', () => server.kill('SIGTERM'))
  })
})
server.on('exit', (code) => {
  rmSync(dir, { recursive: true })
  process.exit(code ?? 1)
})
