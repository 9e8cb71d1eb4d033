import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { define, passOn, tell, wordsFor } from '../../../src/admission/words/define.ts'
import type { Values } from '../../../src/admission/words/values.ts'

const warning = define('warning', { severity: 'costs' })
const ok = define('ok')
const prose = { means: 'It costs.', next: 'Pay.' }

const messages = {
  plain: warning('SF901', { text: 'it costs', ...prose }),
  about: warning('SF902', {
    path: 'spec.price',
    example: { amount: 3, coins: ['p', 'd'] },
    text: ({ amount, coins }) => `it costs ${amount} ${coins.join(' or ')}`,
    means: prose.means,
    next: ({ amount }) => `pay ${amount}`,
  }),
  closed: warning<{ in: 'gold' | 'silver' }>('SF903', {
    example: { in: 'gold' },
    text: ({ in: metal }) => `it costs ${metal}`,
    ...prose,
  }),
  fine: ok('SF904', { text: 'it is free' }),
  passed: passOn(
    'warning',
    ({ of }: { readonly of: 'SF901' }) => of,
    () => 'as it was said',
  ),
}
type Message = Values<typeof messages>

describe('a message', () => {
  test('has the text, the advice and the traits of its entry', () => {
    const about = { kind: 'about', amount: 5, coins: ['c'] } as const
    assert.deepEqual(tell(messages, about), { code: 'SF902', grade: 'warning', text: 'it costs 5 c', next: 'pay 5' })
    assert.deepEqual(tell(messages, { kind: 'plain' }), { code: 'SF901', grade: 'warning', text: 'it costs' })
    assert.equal(messages.about.severity, 'costs')
    assert.equal(wordsFor(messages, { kind: 'closed', in: 'silver' }), 'it costs silver')
  })

  test('is explained by its example, as it would be told', () => {
    const { text, means, next } = messages.about.explained()
    assert.deepEqual([text, means, next], ['spec.price: it costs 3 p or d', 'It costs.', '`pay 3`'])
    assert.equal(messages.plain.explained().next, 'Pay.')
  })

  test('that passes on another has its code, and no explanation of its own', () => {
    assert.equal(tell(messages, { kind: 'passed', of: 'SF901' }).code, 'SF901')
    assert.equal(messages.passed.explained, undefined)
  })

  test('cannot be made without what it means, what to do, and an example of its data', () => {
    // Each line is a mistake that the types refuse; `tsc` fails once it doesn't.
    const mistakes = () => [
      // @ts-expect-error what it means is missing
      warning('SF905', { text: 'it costs', next: 'Pay.' }),
      // @ts-expect-error what to do is missing
      warning('SF905', { text: 'it costs', means: 'It costs.' }),
      // @ts-expect-error there is no example
      warning<{ amount: number }>('SF905', { text: ({ amount }) => `it costs ${amount}`, ...prose }),
      // @ts-expect-error the text takes what the example lacks
      warning('SF905', { example: { amount: 3 }, text: ({ coin }) => `it costs ${coin}`, ...prose }),
      // @ts-expect-error the data of another kind
      { kind: 'closed', amount: 3, coins: [] } satisfies Message,
      // @ts-expect-error a value that the set doesn't have
      { kind: 'closed', in: 'copper' } satisfies Message,
    ]
    assert.equal(typeof mistakes, 'function')
  })
})
