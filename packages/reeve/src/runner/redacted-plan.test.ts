import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { redactPlan } from './redacted-plan.ts'

const PLAN = {
  format_version: '1.2',
  variables: { password: { value: 's3cret' } },
  planned_values: { outputs: { password: { value: 's3cret' } } },
  resource_changes: [
    {
      provider_name: 'example.org/p',
      type: 'thing',
      change: {
        before: null,
        after: { name: 'x', password: 's3cret', list: ['a', 's3cret'] },
        before_sensitive: false,
        after_sensitive: { password: true, list: [false, true] },
      },
    },
  ],
  output_changes: { password: { before: null, after: 's3cret', after_sensitive: true } },
}

const SCHEMAS = {
  format_version: '1.0',
  provider_schemas: {
    'example.org/p': { resource_schemas: { thing: { version: 1 }, other: { version: 1 } } },
    'example.org/q': {},
  },
}

test('redacted plan: marked values are removed, and their marks are kept', () => {
  const text = JSON.stringify(redactPlan(PLAN, SCHEMAS))
  assert.doesNotMatch(text, /s3cret/)
  assert.match(text, /"after":\{"name":"x","password":"\*","list":\["a","\*"\]\}/)
  assert.match(text, /"after_sensitive":\{"password":true/)
})

const SIDES = [
  { name: 'added', before: null, after: 'one', differ: true },
  { name: 'removed', before: 'one', after: null, differ: true },
  { name: 'changed', before: 'one', after: 'two', differ: true },
  { name: 'changed in a list', before: ['one'], after: ['one', 'two'], differ: true },
  { name: 'changed in an object', before: { a: 1 }, after: { a: 2 }, differ: true },
  { name: 'kept', before: { a: ['one'] }, after: { a: ['one'] }, differ: false },
]
for (const { name, before, after, differ } of SIDES)
  test(`redacted plan: a sensitive value that is ${name} is recognisable as such`, () => {
    const marks = { before_sensitive: { v: true }, after_sensitive: { v: true } }
    const change = { before: { v: before }, after: { v: after }, ...marks }
    const { resource_changes: changes } = redactPlan({ resource_changes: [{ change }] }, {})
    assert.doesNotMatch(JSON.stringify(changes), /one|two/)
    // The result has the form of the plan above.
    const [shown] = changes as readonly [{ readonly change: typeof change }]
    assert.equal(!isDeepStrictEqual(shown.change.before, shown.change.after), differ)
  })

test('redacted plan: it contains only the schemas of changed types', () => {
  assert.deepEqual(redactPlan(PLAN, SCHEMAS)['provider_schemas'], {
    'example.org/p': { resource_schemas: { thing: { version: 1 } } },
  })
})
