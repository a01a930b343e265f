import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseProblems } from './problem.ts'

const CASES = [
  {
    name: 'one fault with its place',
    text: 'Failed to parse job: input.hcl:7,2-3: Missing newline; found "}".',
    places: [[7, 2, 7, 3, 'Missing newline; found "}".']],
  },
  {
    name: 'several faults, one over lines',
    text: 'Failed to parse job: input.hcl:4,11-11: A\ninput.hcl:6,2-8,3: B',
    places: [
      [4, 11, 4, 11, 'A'],
      [6, 2, 8, 3, 'B'],
    ],
  },
  {
    name: 'words that go on in the next line',
    text: 'input.hcl:1,1-2: A\n  because',
    places: [[1, 1, 1, 2, 'A\nbecause']],
  },
  {
    name: 'words without a place',
    text: 'JobHCL is empty',
    places: [[1, 1, 1, 1, 'JobHCL is empty']],
  },
  { name: 'nothing', text: '', places: [] },
]

for (const { name, text, places } of CASES)
  test(`faults: ${name}`, () =>
    assert.deepEqual(
      parseProblems(text).map((one) => [
        one.line,
        one.column,
        one.endLine,
        one.endColumn,
        one.message,
      ]),
      places,
    ))
