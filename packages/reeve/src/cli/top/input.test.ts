import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseKeys } from './input.ts'

const PAGES = ['page-down', 'page-up', 'first', 'last']

const cases = [
  { name: 'arrows in both modes', typed: '\u001b[A\u001bOB', keys: ['up', 'down'] },
  { name: 'letters beside them', typed: 'jkq', keys: ['down', 'up', 'quit'] },
  { name: 'Escape alone goes back', typed: '\u001b', keys: ['back'] },
  { name: 'Escape before a letter', typed: '\u001bq', keys: ['back', 'quit'] },
  { name: 'pages and ends', typed: '\u001b[6~\u001b[5~\u001b[H\u001b[4~', keys: PAGES },
  { name: 'Ctrl-C leaves', typed: '\u0003', keys: ['quit'] },
  { name: 'what means nothing', typed: 'xyz\u001b[15~\u001b[1;5P😀', keys: [] },
]

for (const { name, typed, keys } of cases) {
  test(`top: keys: ${name}`, () => assert.deepEqual(parseKeys(typed), keys))
}
