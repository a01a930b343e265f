import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  areAdjacentMinors,
  compareMinors,
  minorText,
  minorVersionOf,
  parseMinor,
  type MinorVersion,
} from './release.ts'

test('releases: the minor version is that of the first two numbers', () => {
  assert.deepEqual(minorVersionOf('1.4.2-rc.1'), { major: 1, minor: 4 })
  assert.equal(minorVersionOf('unknown'), undefined)
  assert.deepEqual(parseMinor(minorText({ major: 1, minor: 10 })), { major: 1, minor: 10 })
  assert.equal(parseMinor('latest'), undefined)
})

const cases = [
  { older: '1.4', newer: '1.4', order: 0, isAdjacent: true },
  { older: '1.9', newer: '1.10', order: -1, isAdjacent: true },
  { older: '1.4', newer: '1.6', order: -2, isAdjacent: false },
  { older: '1.9', newer: '2.0', order: -1, isAdjacent: true },
  { older: '1.9', newer: '2.1', order: -1, isAdjacent: false },
  { older: '1.9', newer: '3.0', order: -2, isAdjacent: false },
]
for (const { older, newer, order, isAdjacent } of cases)
  test(`releases: ${older} and ${newer} ${isAdjacent ? 'work' : 'do not work'} together`, () => {
    const [a, b] = [minor(older), minor(newer)]
    assert.equal(compareMinors(a, b), order)
    assert.equal(areAdjacentMinors(a, b), isAdjacent)
    assert.equal(areAdjacentMinors(b, a), isAdjacent)
  })

function minor(text: string): MinorVersion {
  const found = parseMinor(text)
  assert.ok(found !== undefined)
  return found
}
