import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileRego } from './program.ts'

const TEXT = 'package q\n\na := []\n\ndeny contains "no"\n'

function asked(reference: string): string {
  const compiled = compileRego({ modules: [{ file: 'q.rego', text: TEXT }], version: 'detect' })
  assert.ok(compiled.ok)
  const document = compiled.value.prepareDocument(reference)
  if (!document.ok) return `refused: ${document.error.message}`
  const answer = document.value.evaluate({})
  return answer.ok ? `value: ${answer.value !== undefined}` : `error: ${answer.error.message}`
}

const cases = [
  ['data.q.deny', 'value: true'],
  ['data.q.deny with input.x as 1', 'value: true'],
  ['data.q.deny # all of it', 'value: true'],
  ['data.q.nothing', 'value: false'],
  ['data.q[_]', 'error: there are 2 answers: ask for one document'],
  ['true; data.q.deny', 'refused: it asks for several things: a query is one expression'],
  ['data.q.a\ndata.q.deny', 'refused: it asks for several things: a query is one expression'],
] as const
for (const [reference, wanted] of cases)
  test(`rego document: ${JSON.stringify(reference)} is one answer or none`, () => {
    assert.equal(asked(reference), wanted)
  })
