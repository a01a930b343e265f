import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redactedPlan } from './redacted-plan.ts'

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

test('redacted plan: no marked value is left, and the marks are', () => {
  const text = JSON.stringify(redactedPlan(PLAN, SCHEMAS))
  assert.doesNotMatch(text, /s3cret/)
  assert.match(text, /"after":\{"name":"x","password":null,"list":\["a",null\]\}/)
  assert.match(text, /"after_sensitive":\{"password":true/)
})

test('redacted plan: it has the schemas of what changes, and no others', () => {
  assert.deepEqual(redactedPlan(PLAN, SCHEMAS)['provider_schemas'], {
    'example.org/p': { resource_schemas: { thing: { version: 1 } } },
  })
})
