import assert from 'node:assert/strict'
import { test } from 'node:test'
import { truncateText } from '@reeve/kit/truncate-text.ts'
import { MASK, SecretCollector, withoutSecrets } from './redaction.ts'

test('redactSecrets redacts secrets in results, the longer one first', () => {
  const outcome = {
    policy_name: 'p',
    enforcement_level: 'advisory',
    effective_level: 'advisory',
    query: null,
    status: 'failed',
    description: null,
    output: [{ print: 'a secret and a secret-two', many: ['x secret'] }, 12345],
    findings: [
      {
        rule: null,
        file: 'a.native',
        line: 1,
        column: 1,
        message: 'is "secret-two"',
        value: 'secret',
      },
    ],
  } as const
  const hidden = withoutSecrets(outcome, ['secret-two', 'secret', '12345'])
  assert.deepEqual(hidden.output, [{ print: `a ${MASK} and a ${MASK}`, many: [`x ${MASK}`] }, MASK])
  assert.deepEqual(hidden.findings, [
    { rule: null, file: 'a.native', line: 1, column: 1, message: `is "${MASK}"`, value: MASK },
  ])
})

test('SecretCollector returns every string and number of a value in every encoding', () => {
  const secrets = new SecretCollector()
  secrets.add({ a: ['plain', 'abc', null, true], b: { c: 12345 } })
  assert.deepEqual(secrets.encodedValues(), ['plain', '12345'])
  secrets.add('a"<b>')
  assert.deepEqual(secrets.encodedValues().slice(0, 5), [
    'a\\\\\\"\\\\u003cb\\\\u003e',
    'a\\"\\u003cb\\u003e',
    'a\\\\\\"<b>',
    'a\\"<b>',
    'plain',
  ])
})

test('redactSecrets redacts the prefix of a truncated secret, and no other text', () => {
  const secret = Array.from({ length: 40 }, (_, i) => `part-${i}`).join(' ')
  const told = (message: string): string => {
    const findings = [{ rule: null, line: 1, column: 1, message }]
    const [finding] = withoutSecrets({ output: [], findings }, [secret]).findings
    return finding?.message ?? ''
  }
  assert.equal(told(`is "${secret}", "${secret}"`), `is "${MASK}", "${MASK}"`)
  assert.equal(told(`is "${secret.slice(0, 100)}…, x is 1`), `is "${MASK}…, x is 1`)
  const few = `is "${secret.slice(0, 60)}"`
  assert.equal(told(few), few)
})

const CUTS: readonly (readonly [left: number, shown: string])[] = [
  [0, 'it is …'],
  [3, 'it is hun…'],
  [4, `it is ${MASK}…`],
  [6, `it is ${MASK}…`],
  [7, `it is ${MASK}…`],
  [9, `it is ${MASK} a…`],
]
for (const [left, shown] of CUTS)
  test(`withoutSecrets hides a secret that was cut after ${left} of 7 characters`, () => {
    const said = truncateText('it is hunter2 and more', 'it is '.length + left)
    const { output } = withoutSecrets({ output: [said], findings: [] }, ['hunters', 'hunter2'])
    assert.deepEqual(output, [shown])
  })

test('redactSecrets handles any number of secrets', () => {
  const many = Array.from({ length: 200_000 }, (_, i) => `${i}-secret`)
  const { output } = withoutSecrets({ output: ['is 12-secr…'], findings: [] }, many)
  assert.deepEqual(output, [`is ${MASK}…`])
})
