import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MASK, redactPlan, sensitiveValues } from './redaction.ts'
import type { JsonObject } from './policy-input.ts'

const SECRET = 'do-not-tell'

/** A plan with one change. */
function aPlan(change: JsonObject): JsonObject {
  return { format_version: '1.2', resource_changes: [{ address: 'a', change }] }
}

const cases: readonly {
  readonly name: string
  readonly plan: JsonObject
  readonly hides: readonly string[]
}[] = [
  {
    name: 'a member that is marked',
    plan: aPlan({ after: { a: SECRET, b: 'open' }, after_sensitive: { a: true } }),
    hides: [SECRET],
  },
  {
    name: 'a whole value that is marked',
    plan: aPlan({ before: { a: { b: SECRET } }, before_sensitive: true }),
    hides: [SECRET],
  },
  {
    name: 'an item of a list',
    plan: aPlan({ after: { a: ['open', SECRET] }, after_sensitive: { a: [false, true] } }),
    hides: [SECRET],
  },
  {
    name: 'a drift',
    plan: {
      format_version: '1.2',
      resource_drift: [{ change: { after: { a: SECRET }, after_sensitive: { a: true } } }],
    },
    hides: [SECRET],
  },
  {
    name: 'an output that changes',
    plan: {
      format_version: '1.2',
      output_changes: { x: { after: SECRET, after_sensitive: true } },
    },
    hides: [SECRET],
  },
  {
    name: 'an output and a resource of a module in a module',
    plan: {
      format_version: '1.2',
      planned_values: {
        outputs: { x: { sensitive: true, value: SECRET } },
        root_module: {
          child_modules: [
            {
              child_modules: [
                { resources: [{ values: { a: 'deep-secret' }, sensitive_values: { a: true } }] },
              ],
            },
          ],
        },
      },
    },
    hides: [SECRET, 'deep-secret'],
  },
  {
    name: 'the state before',
    plan: {
      format_version: '1.2',
      prior_state: { values: { outputs: { x: { sensitive: true, value: SECRET } } } },
    },
    hides: [SECRET],
  },
  {
    name: 'a variable that is declared sensitive, and its default',
    plan: {
      format_version: '1.2',
      variables: { p: { value: SECRET } },
      configuration: {
        root_module: {
          variables: { p: { sensitive: true, default: 'default-secret' } },
          module_calls: {
            m: { module: { variables: { q: { sensitive: true, default: 'inner-secret' } } } },
          },
        },
      },
    },
    hides: [SECRET, 'default-secret', 'inner-secret'],
  },
]
for (const { name, plan, hides } of cases)
  test(`redactPlan hides ${name}`, () => {
    const text = JSON.stringify(redactPlan(plan))
    for (const secret of hides) assert.equal(text.includes(secret), false, secret)
    assert.ok(text.includes(MASK))
    assert.deepEqual(new Set(sensitiveValues(plan)), new Set(hides))
  })

test('redactPlan keeps unmarked values and missing values', () => {
  const plan = aPlan({
    after: { a: null, b: 'open' },
    after_sensitive: { a: true, c: true },
    after_unknown: { d: true },
  })
  assert.deepEqual(redactPlan(plan), plan)
})

test('redactPlan accepts documents of any shape', () => {
  fc.assert(
    fc.property(fc.object(), (given) => {
      // fc.object produces JSON data.
      const plan = { ...given, resource_changes: [given, given['a'] ?? null] } as JsonObject
      assert.doesNotThrow(() => redactPlan(plan))
    }),
  )
})
