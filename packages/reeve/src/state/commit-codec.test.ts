import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeCommit, decodeRow, encodeCommit, encodeRow } from './commit-codec.ts'
import { UNSPLIT, joinRowJson } from './table/row-json.ts'
import {
  splitStoredRow,
  type RowHeader,
  type RowIndexes,
  type Commit,
  type CommittedRow,
  type EventRef,
} from './commit.ts'

const text = fc.string({ unit: 'binary', maxLength: 4 })
const header: fc.Arbitrary<RowHeader> = fc.tuple(
  fc.nat(),
  fc.nat(),
  text,
  fc.option(text, { nil: null }),
)
const indexes: fc.Arbitrary<RowIndexes> = fc.tuple(fc.nat(), fc.nat())
const rowArbitrary: fc.Arbitrary<CommittedRow> = fc.record(
  {
    table: fc.constantFrom('jobs', 'allocations'),
    key: text,
    header: fc.option(indexes, { nil: undefined }),
    // Few, so that rows with the text of the one before happen.
    text: fc
      .dictionary(text, text, { maxKeys: 1 })
      .map((row) => ({ ...UNSPLIT, body: JSON.stringify(row) })),
  },
  { noNullPrototype: true },
)

function wholeCommit(commit: Commit): string {
  return encodeCommit(commit).join('')
}

/** Events of a few kinds, so that runs of equal ones happen; most are named like their row. */
function commitOf(rows: readonly CommittedRow[], kinds: readonly number[]): Commit {
  const events = kinds.flatMap((kind, row): EventRef[] => {
    const committed = rows[row]
    if (kind === 0 || committed === undefined) return []
    const Key = kind === 3 ? `not ${committed.key}` : committed.key
    const FilterKeys = kind === 2 ? null : ['job', String(kind % 2)]
    return [{ Topic: 'Job', Type: `T${kind % 2}`, Key, Namespace: 'a', FilterKeys, row }]
  })
  return { index: 7, timeMs: 5, rows, events }
}

test('codec: a commit survives a round trip', () => {
  fc.assert(
    fc.property(
      fc.array(rowArbitrary, { maxLength: 12 }),
      fc.array(fc.nat({ max: 4 }), { maxLength: 12 }),
      (rows, kinds) => {
        const commit = commitOf(rows, kinds)
        assert.deepEqual(decodeCommit(wholeCommit(commit)), commit)
      },
    ),
  )
})

test('codec: a row survives a round trip', () => {
  fc.assert(
    fc.property(header, rowArbitrary, (stamps, { text: whole }) => {
      const encoded = encodeRow(stamps, whole).join('')
      const row = { header: stamps, body: joinRowJson(whole) }
      assert.deepEqual(decodeRow(splitStoredRow({ table: 't', key: 'k', text: encoded })), row)
    }),
  )
})

test('codec: consecutive events of one kind are encoded as one run', () => {
  const headChars = (count: number): number => {
    const rows = Array.from({ length: count }, (_, n) => ({ ...ROW, key: `key-${n}` }))
    const kinds = rows.map(() => 1)
    return wholeCommit(commitOf(rows, kinds)).indexOf('\n')
  }
  assert.ok(headChars(1_000) - headChars(1) < 10)
})

const ROW: CommittedRow = {
  table: 'allocations',
  key: '',
  header: [1, 1],
  text: { ...UNSPLIT, body: '{}' },
}

test('codec: a row equal to the previous one is encoded as an empty line', () => {
  const long = { ...UNSPLIT, body: JSON.stringify({ text: 'x'.repeat(1_000) }) }
  const job = { ...ROW, table: 'jobs', text: long }
  const version = { ...ROW, table: 'job_versions', text: { ...long } }
  const commit = commitOf([job, version, { ...ROW, header: undefined }], [])
  assert.ok(wholeCommit(commit).length < 1_200)
  assert.deepEqual(decodeCommit(wholeCommit(commit)), commit)
})

test('codec: a commit with single events of an earlier version is decoded', () => {
  const event = { Topic: 'Job', Type: 'T', Key: 'web', Namespace: 'a', FilterKeys: null, row: 0 }
  const lines = [{ index: 7, timeMs: 5, events: [event] }, ['jobs', 'a!web', [7, 7, 'k']], {}]
  assert.deepEqual(decodeCommit(lines.map((line) => JSON.stringify(line)).join('\n')), {
    index: 7,
    timeMs: 5,
    events: [event],
    rows: [{ table: 'jobs', key: 'a!web', header: [7, 7], text: { ...UNSPLIT, body: '{}' } }],
  })
})
