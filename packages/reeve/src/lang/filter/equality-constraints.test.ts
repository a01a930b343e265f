import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileFilter, equalityConstraints, type FilterOptions } from './compile.ts'
import { fieldTypeFromSchema } from './field-type.ts'

const options: FilterOptions = {
  rowType: fieldTypeFromSchema({
    type: 'object',
    properties: {
      ID: { type: 'string' },
      JobID: { type: 'string' },
      Status: {
        anyOf: [
          { const: 'a', type: 'string' },
          { const: 'b', type: 'string' },
        ],
      },
      Priority: { type: 'integer' },
      CreateTime: { type: 'string', format: 'date-time' },
      Meta: { type: 'object', patternProperties: { '^.*$': { type: 'string' } } },
      SecretID: { type: 'string' },
    },
  }),
  hidden: ['SecretID'],
}

const cases: readonly { filter: string; hint: Readonly<Record<string, string>> }[] = [
  { filter: 'JobID == "web"', hint: { JobID: 'web' } },
  {
    filter: 'JobID == web and Status == a and ID matches "^1"',
    hint: { JobID: 'web', Status: 'a' },
  },
  { filter: '((JobID == web) and (ID != x and Status == a))', hint: { JobID: 'web', Status: 'a' } },
  { filter: '"/JobID" == "web"', hint: { JobID: 'web' } },
  { filter: 'JobID == web and JobID == db', hint: { JobID: 'web' } },
  { filter: 'JobID == web or Status == a', hint: {} },
  { filter: 'not JobID == web', hint: {} },
  { filter: 'JobID != web', hint: {} },
  { filter: 'JobID contains web', hint: {} },
  { filter: 'Priority == "0x10" and JobID == web', hint: { JobID: 'web' } },
  { filter: 'CreateTime == x', hint: {} },
  { filter: 'Meta.team == core', hint: {} },
  { filter: 'Nope == x', hint: {} },
  { filter: 'SecretID == x', hint: {} },
  { filter: 'any Meta as JobID { JobID == web }', hint: {} },
]
for (const c of cases)
  test(`equality hint: ${c.filter}`, () => {
    const compiled = compileFilter(c.filter, options)
    assert.ok(compiled.ok)
    assert.deepEqual(equalityConstraints(compiled.value), new Map(Object.entries(c.hint)))
  })

test('equality hint: without declared types every field may be a text', () => {
  const compiled = compileFilter('JobID == web and a.b == c')
  assert.ok(compiled.ok)
  assert.deepEqual(equalityConstraints(compiled.value), new Map([['JobID', 'web']]))
})
