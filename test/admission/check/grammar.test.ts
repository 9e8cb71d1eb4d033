import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Check, formatCheck, isLoopback, parseCheck, parsePort } from '../../../src/admission/check/grammar.ts'
import { textOf } from '../../../src/admission/words/messages.ts'

const good: readonly [string, Check][] = [
  ['probe', { kind: 'probe', probe: 'either' }],
  ['probe:startup', { kind: 'probe', probe: 'startup' }],
  ['probe:readiness', { kind: 'probe', probe: 'readiness' }],
  ['none', { kind: 'none' }],
  ['http://:15021/healthz/ready', { kind: 'http', host: '', port: 15021, path: '/healthz/ready' }],
  ['http://:http/', { kind: 'http', host: '', port: 'http', path: '/' }],
  ['https://[::1]:8443/x?a=b&c=d', { kind: 'https', host: '::1', port: 8443, path: '/x?a=b&c=d' }],
  ['http://127.0.0.1:1/', { kind: 'http', host: '127.0.0.1', port: 1, path: '/' }],
  ['http://db.svc:65535/a://b', { kind: 'http', host: 'db.svc', port: 65535, path: '/a://b' }],
  ['tcp://:6379', { kind: 'tcp', host: '', port: 6379 }],
  ['tcp://[::ffff:10.0.0.1]:80', { kind: 'tcp', host: '::ffff:10.0.0.1', port: 80 }],
  ['grpc://:50051', { kind: 'grpc', host: '', port: 50051, service: '' }],
  ['grpc://:grpc/a.b.Health', { kind: 'grpc', host: '', port: 'grpc', service: 'a.b.Health' }],
  ['unix:///run/a b.sock', { kind: 'unix', path: '/run/a b.sock' }],
  ['file:///ready', { kind: 'file', path: '/ready' }],
  ['exec:["cat","/ready"]', { kind: 'exec', command: ['cat', '/ready'] }],
  ['exec:["sh","-c","a\\n\\"$(b)\\""]', { kind: 'exec', command: ['sh', '-c', 'a\n"$(b)"'] }],
  ['hook:["/entrypoint","wait"]', { kind: 'hook', command: ['/entrypoint', 'wait'] }],
]
for (const [text, check] of good) {
  test(`reads ${text} and writes it back`, () => {
    assert.deepEqual(parseCheck(text), { ok: true, value: check })
    assert.equal(formatCheck(check), text)
  })
}

test('an empty gRPC service may be written as a slash', () => {
  assert.deepEqual(parseCheck('grpc://:1/'), { ok: true, value: { kind: 'grpc', host: '', port: 1, service: '' } })
})

const bad: readonly [string, number][] = [
  ['probe:liveness', 7],
  ['probe:', 7],
  ['none:', 5],
  ['http', 5],
  ['http:/x', 6],
  ['http://x', 9],
  ['http:///x', 8],
  ['http://:/x', 9],
  ['http://:0/x', 9],
  ['http://:65536/x', 9],
  ['http://:HTTP/x', 9],
  ['http://:8080', 13],
  ['http://:8080?x', 13],
  ['http://:8080/a b', 15],
  ['http://:8080/a#b', 15],
  ['http://:8080/a\nb', 15],
  ['http://:8080/ä', 14],
  ['http://user@host:80/', 8],
  ['http://a_b:80/', 8],
  ['http://256.1.1.1:80/', 8],
  ['http://1.2.3:80/', 8],
  ['http://-a:80/', 8],
  ['http://[::1:80/', 9],
  ['http://[::1::]:80/', 9],
  ['http://[1:2:3]:80/', 9],
  ['http://[fe80::1%25eth0]:80/', 9],
  ['http://[::1]80/', 13],
  ['http://::1:80/', 9],
  ['tcp://:80/', 10],
  ['tcp://:80x-', 8],
  ['grpc://:80--x/y', 9],
  ['grpc://:80/a b', 13],
  ['grpc://:80?x', 11],
  ['unix://run/x', 8],
  ['unix:/run/x', 6],
  ['file://', 8],
  ['file:///a\u0000b', 10],
  ['exec:', 6],
  ['exec:ls', 6],
  ['exec:[]', 6],
  ['exec:[""]', 6],
  ['exec:["a",1]', 6],
  ['exec:["a\\u0000"]', 6],
  ['hook', 5],
  ['hook:{}', 6],
]
for (const [text, character] of bad) {
  test(`points at character ${character} of ${JSON.stringify(text)}`, () => {
    const result = parseCheck(text)
    assert.ok(!result.ok, 'was accepted')
    assert.match(textOf(result.problem), new RegExp(`^expected .* at character ${character} of "`))
  })
}

test('what is not a check at all is told which ones there are', () => {
  for (const text of ['', 'ready', 'HTTP://:80/', ' probe', 'ftp://:21', 'toString', '://']) {
    const result = parseCheck(text)
    assert.ok(!result.ok, text)
    assert.match(textOf(result.problem), /is not a check; use probe, none, http:/)
  }
})

test("a port's name is an IANA service name", () => {
  for (const name of ['http', 'a', '1a', 'http-metrics-1', 'a'.repeat(15)]) assert.equal(parsePort(name), name)
  for (const name of ['', '-a', 'a-', 'a--b', 'A', 'a_b', 'a'.repeat(16), '123456', '1-2', '+1', '0x1f-']) {
    assert.equal(parsePort(name), undefined, name)
  }
})

test('loopback is empty, localhost, 127/8 or ::1', () => {
  for (const host of ['', 'localhost', '127.0.0.1', '127.9.9.9', '::1']) assert.ok(isLoopback(host), host)
  for (const host of ['10.0.0.1', '127.0.0.1.nip.io', '::', 'local']) assert.ok(!isLoopback(host), host)
})

test('a host has at most 253 characters', () => {
  const labels = `${'a'.repeat(63)}.`.repeat(3)
  assert.ok(parseCheck(`tcp://${labels}${'a'.repeat(61)}:1`).ok)
  assert.ok(!parseCheck(`tcp://${labels}${'a'.repeat(62)}:1`).ok)
})
