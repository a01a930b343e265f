import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import test from 'node:test'
import { takeSnapshot } from '../state/index.ts'
import { loadSnapshotReader } from '../cli/index.ts'
import { aJob, aNode } from '../../test/build/index.ts'
import { aNamespace, aStore, write } from '../../test/build/store.ts'
import { put } from '../state/index.ts'
import { createSnapshotRowCheck } from './restore-snapshot.ts'

type Line = Record<string, unknown>

/** The lines of a snapshot of a small state, without the last. */
async function someLines(): Promise<Line[]> {
  const { store } = await aStore()
  write(store, [aNamespace('default')])
  const { SecretID: _secret, ...node } = aNode({ ID: 'n1' })
  const { durable } = store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('jobs', aJob({ ID: 'web' })), put('nodes', { ...node, SecretHash: '' })],
  })
  await durable
  const { index, rows } = takeSnapshot(store)
  return [
    { Snapshot: 'reeve', Version: 1, Time: '' },
    { Blob: 'a', Data: 'YQ==' },
    { Index: index, Rows: rows.length },
    ...rows.map(({ table, key, indexes, body }) => ({ Row: [table, key, ...indexes], Body: body })),
  ]
}

/** As a file whose checksum and counts are right. */
function fileOf(lines: readonly (Line | string)[]): string {
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
  const text = `${texts.join('\n')}\n`
  const Blobs = texts.filter((line) => line.startsWith('{"Blob"')).length
  const Checksum = `sha256:${createHash('sha256').update(text).digest('hex')}`
  return `${text}${JSON.stringify({ Blobs, Checksum })}\n`
}

async function check(text: string) {
  const { inspectSnapshot } = await loadSnapshotReader()
  const chunks = (async function* () {
    yield Buffer.from(text)
  })()
  return await inspectSnapshot(chunks, 'a.snapshot', createSnapshotRowCheck())
}

/** Replaces a row, or what the function makes of its parts. */
function withRow(
  table: string,
  change: (row: { Row: unknown[]; Body: string }) => Line,
): (lines: Line[]) => (Line | string)[] {
  return (lines) =>
    lines.map((line) => {
      const isIt = Array.isArray(line['Row']) && line['Row'][0] === table
      // Such a line has both.
      return isIt ? change(line as unknown as { Row: unknown[]; Body: string }) : line
    })
}

const body = (table: string, Body: string) => withRow(table, ({ Row }) => ({ Row, Body }))
const indexes = (table: string, ...given: readonly unknown[]) =>
  withRow(table, ({ Row, Body }) => ({ Row: [...Row.slice(0, 2), ...given], Body }))
const reach = (Index: unknown) => (lines: Line[]) =>
  lines.map((line) => ('Index' in line ? { ...line, Index } : line))

const invalid: readonly (readonly [string, (lines: Line[]) => (Line | string)[], RegExp])[] = [
  [
    'an index of 2^53',
    reach(2 ** 53),
    /line 3: the index 9007199254740992 is not an integer from 0 /,
  ],
  ['an index past the limit', reach(2 ** 48 + 1), /line 3: the index 281474976710657 is not/],
  ['a negative index', reach(-5), /line 3: the index -5 is not/],
  ['a fractional index', reach(1.5), /line 3: the index 1.5 is not/],
  [
    'a body that is no JSON',
    body('namespaces', '{'),
    /of table namespaces: its body is not JSON\./,
  ],
  ['a row null', body('namespaces', 'null'), /its body is not a JSON object/],
  ['a row that is a list', body('namespaces', '[1,2]'), /its body is not a JSON object/],
  ['a job {}', body('jobs', '{}'), /"default!web" of table jobs: its key is not the one/],
  ['a node {}', body('nodes', '{}'), /its key is not the one of its content, null/],
  ['a node with nothing but an ID', body('nodes', '{"ID":"n1"}'), /row "n1" of table nodes: /],
  [
    'a job whose groups are a text',
    withRow('jobs', ({ Row, Body }) => ({
      Row,
      Body: JSON.stringify({ ...JSON.parse(Body), TaskGroups: 'x' }),
    })),
    /\/TaskGroups must be/,
  ],
  ['indexes that are missing', indexes('jobs'), /a row needs a table, a key, a create index/],
  ['textual indexes', indexes('jobs', '1', '2'), /the indexes "1" and "2" of row "default!web"/],
  ['an index of the future', indexes('jobs', 1, 99), /99 of row .* are not integers from 0 to 2\./],
  [
    'a table that is not known',
    withRow('jobs', ({ Row, Body }) => ({ Row: ['moons', ...Row.slice(1)], Body })),
    /there is no table "moons"/,
  ],
  [
    'the name of a member of every object as a table',
    withRow('jobs', ({ Row, Body }) => ({ Row: ['__proto__', ...Row.slice(1)], Body })),
    /there is no table "__proto__"/,
  ],
  [
    'a row twice',
    (lines) => [
      ...lines.map((line) => ('Index' in line ? { ...line, Rows: lines.length - 2 } : line)),
      lines.at(-1) ?? '',
    ],
    /line 7: row .*: the row is there twice/,
  ],
  ['a blob twice', (lines) => lines.toSpliced(2, 0, { Blob: 'a', Data: '' }), /"a" is there twice/],
  ['a blob that is not base64', (lines) => lines.with(1, { Blob: 'a', Data: '?' }), /not base64/],
  ['a blob without a name', (lines) => lines.with(1, { Blob: '', Data: '' }), /has 0 characters/],
  ['a row before the index', (lines) => lines.toSpliced(2, 0, lines.at(-1) ?? {}), /line 3: a row/],
  ['two heads', (lines) => [...lines, lines[0] ?? ''], /begins a second time/],
  ['fewer rows than it tells of', (lines) => lines.slice(0, -1), /has 2 rows instead of 3/],
  ['a line that is none', (lines) => [...lines, '[]'], /line 7: it is not a line of a snapshot/],
]
for (const [name, change, says] of invalid)
  test(`snapshot: ${name} is refused before anything is written`, async () => {
    const changed = change(await someLines())
    await assert.rejects(check(fileOf(changed)), (failure: Error) => {
      assert.match(failure.message, /^a\.snapshot is not a valid snapshot: line \d+: /)
      assert.match(failure.message, says)
      return true
    })
  })

test('snapshot: one at the limits is taken', async () => {
  const lines = reach(2 ** 48)(await someLines())
  const { Index, Tables, Blobs } = await check(fileOf(lines))
  assert.deepEqual([Index, Blobs], [2 ** 48, 1])
  assert.deepEqual(Tables, { jobs: 1, namespaces: 1, nodes: 1 })
})
