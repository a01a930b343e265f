import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareWithLog, LogHistory, NO_ENTRY, type EntryId } from './log-history.ts'

const applied: EntryId = { index: 5, term: 2, nonce: 'e' }
const log = { firstIndex: 1, lastIndex: 9, entry: applied }

const comparisons = [
  { name: 'the log holds the entry', applied, log, is: 'same' },
  { name: 'the log ends with the entry', applied, log: { ...log, lastIndex: 5 }, is: 'same' },
  {
    name: 'the log ends earlier',
    applied,
    log: { firstIndex: 1, lastIndex: 4, entry: undefined },
    is: 'diverged',
  },
  {
    name: 'another append wrote the entry',
    applied,
    log: { ...log, entry: { ...applied, nonce: 'f' } },
    is: 'diverged',
  },
  {
    name: 'the entry is of another term',
    applied,
    log: { ...log, entry: { ...applied, term: 3 } },
    is: 'diverged',
  },
  {
    name: 'the entry was trimmed, and some that follow it',
    applied,
    log: { firstIndex: 8, lastIndex: 9, entry: undefined },
    is: 'behind',
  },
  {
    name: 'the entry was trimmed, so nothing shows that the log is the same',
    applied,
    log: { firstIndex: 6, lastIndex: 9, entry: undefined },
    is: 'behind',
  },
  {
    name: 'nothing was applied',
    applied: NO_ENTRY,
    log: { firstIndex: 1, lastIndex: 9, entry: undefined },
    is: 'same',
  },
  {
    name: 'the state comes from a restored snapshot without a log',
    applied: { index: 5, term: 0, nonce: '' },
    log: { firstIndex: 6, lastIndex: 7, entry: undefined },
    is: 'same',
  },
  {
    name: 'the log holds an entry where there was none',
    applied: { index: 5, term: 0, nonce: '' },
    log,
    is: 'diverged',
  },
] as const
for (const c of comparisons)
  test(`log history: ${c.name}: ${c.is}`, () => {
    assert.equal(compareWithLog(c.applied, c.log), c.is)
  })

const id = (index: number, nonce: string, term = 1): EntryId => ({ index, term, nonce })

/** Three appends: a has 1 and 2, b has 3, c has 4 to 6. */
function aHistory(): LogHistory {
  const history = new LogHistory()
  for (const entry of [id(1, 'a'), id(2, 'a'), id(3, 'b'), id(4, 'c'), id(5, 'c'), id(6, 'c')])
    history.add(entry)
  return history
}

const losses = [
  { name: 'nothing, when the last entry is there', held: [id(6, 'c')], lost: undefined },
  {
    name: 'what follows the last entry that the log holds',
    held: [id(1, 'a'), id(2, 'a'), id(3, 'b')],
    lost: { fromIndex: 4, toIndex: 6, nonce: 'c' },
  },
  {
    name: 'entries that others have replaced',
    held: [id(1, 'a'), id(2, 'a'), id(3, 'x'), id(4, 'y'), id(5, 'y'), id(6, 'z')],
    lost: { fromIndex: 3, toIndex: 6, nonce: 'b' },
  },
  {
    name: 'entries of another term with the same nonce',
    held: [id(2, 'a'), id(3, 'b'), id(6, 'c', 2)],
    lost: { fromIndex: 4, toIndex: 6, nonce: 'c' },
  },
  { name: 'all that is remembered', held: [], lost: { fromIndex: 1, toIndex: 6, nonce: 'a' } },
]
for (const c of losses)
  test(`log history: lost is ${c.name}`, () => {
    assert.deepEqual(aHistory().findLoss(c.held), c.lost)
  })

test('log history: remembers its last entry, also behind indexes that were skipped', () => {
  const history = aHistory()
  assert.deepEqual(history.last, id(6, 'c'))
  history.add(id(100, 'h', 4))
  assert.deepEqual(history.last, id(100, 'h', 4))
  const lost = { fromIndex: 7, toIndex: 100, nonce: 'h' }
  assert.deepEqual(history.findLoss([id(6, 'c')]), lost)
})

test('log history: lost entries are truncated, and the log continues from there', () => {
  const history = aHistory()
  history.truncate(4)
  assert.deepEqual(history.last, id(3, 'b'))
  history.add(id(4, 'n', 2))
  assert.deepEqual(history.last, id(4, 'n', 2))
})

test('log history: the oldest appends are dropped beyond the limit', () => {
  const history = new LogHistory()
  for (let index = 1; index <= 40_001; index++) history.add(id(index, `${index}`))
  assert.equal(history.firstIndex, 20_002)
  assert.equal(history.last.index, 40_001)
})
