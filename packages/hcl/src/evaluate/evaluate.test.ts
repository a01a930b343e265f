import assert from 'node:assert/strict'
import { test } from 'node:test'
import expressions from '../cases/expressions.json' with { type: 'json' }
import templates from '../cases/templates.json' with { type: 'json' }
import { parseExpression } from '../syntax/parse.ts'
import { formatRange } from '../text/format.ts'
import { toJson } from '../value/value.ts'
import { evaluate } from './evaluate.ts'
import { createScope } from './scope.ts'

interface Case {
  readonly note: string
  readonly source: string
  /** The expected result as data or, where data would round it, as JSON text. */
  readonly value?: unknown
  readonly json?: string
  /** The only diagnostic with position and detail, or the summaries of all diagnostics. */
  readonly error?: string
  readonly at?: string
  readonly detail?: string
  readonly errors?: readonly string[]
}

const variables = {
  text: 'abc',
  list: ['a', 'b', 'c'],
  nothing: null,
  object: { name: 'web', port: 80 },
  nested: [
    { name: 'first', tags: ['x', 'y'] },
    { name: 'second', tags: ['z'] },
  ],
}

function run(source: string) {
  const parsed = parseExpression(source, 'f')
  return parsed.ok ? evaluate(parsed.value, createScope({ variables })) : parsed
}

function check(c: Case): void {
  const result = run(c.source)
  if (c.error === undefined && c.errors === undefined) {
    assert.ok(result.ok, result.ok ? '' : JSON.stringify(result.error))
    if (c.json === undefined) assert.deepEqual(result.value, c.value)
    else assert.equal(toJson(result.value), c.json)
    return
  }
  assert.ok(!result.ok, 'it should fail')
  const summaries = result.error.map((one) => one.summary)
  assert.deepEqual(summaries, c.errors ?? [c.error])
  const [first] = result.error
  assert.ok(first)
  if (c.at !== undefined) assert.equal(formatRange(first.range), `f:${c.at}`)
  if (c.detail !== undefined) assert.equal(first.detail, c.detail)
}

for (const c of expressions) test(`evaluate: ${c.note}`, () => check(c))
for (const c of templates) test(`evaluate template: ${c.note}`, () => check(c))
