import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decide } from '../../../src/admission/decide.ts'
import { coded } from '../../../src/admission/words/messages.ts'
import { app, configuration, pod } from '../pods.ts'

const told = (annotations: Record<string, string>) => {
  const { verdict, reasons, warnings } = decide(
    pod({ sidecars: 'envoy', ...annotations }, [app, { name: 'envoy' }]),
    configuration,
  )
  return { verdict, reasons: reasons.map(coded), warnings: warnings.map(coded) }
}

test('a pod silences warnings and notes by their codes, and is patched all the same', () => {
  assert.match(told({}).warnings.join(), /^SF204 /)
  assert.deepEqual(told({ ignore: 'SF204, SF219' }).warnings, [])
  assert.equal(told({ ignore: 'SF204' }).verdict, 'patched')
})

test('a refusal is never silenced, and whoever tries is told', () => {
  const { verdict, reasons, warnings } = told({ gate: 'nativ', ignore: 'SF105,SF201' })
  assert.equal(verdict, 'refused')
  assert.match(reasons.join(), /^SF105 /)
  assert.match(warnings.join('\n'), /sidecar-first.dev\/ignore: SF105 can't be ignored\n.*SF201 can't be ignored/)
})

test('a code that does not exist is told, whatever is written', () => {
  const { warnings } = told({ ignore: 'SF204,SF999,\u001b[31m,, sf204' })
  assert.match(warnings.join('\n'), /"SF999" is not the code of a warning about pods/)
  assert.doesNotMatch(warnings.join(), /\p{Cc}/u)
  assert.ok(told({ ignore: 'x,'.repeat(100_000) }).warnings.length <= 15)
})
