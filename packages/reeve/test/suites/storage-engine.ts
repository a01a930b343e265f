import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import fc from 'fast-check'
import {
  joinStoredRow,
  type BlobChange,
  type CheckpointRow,
  type LogEntry,
  type StorageEngine,
} from '../../src/state/index.ts'

/** One place that keeps data, empty at first. Opening it again is what a restart does. */
export interface EngineHome {
  open(): Promise<StorageEngine>
}

interface SuiteOptions {
  /** Cases an engine cannot be held to, by name, each with the reason. */
  readonly unsupported?: Readonly<Record<string, string>>
}

/** What every storage engine promises: the comments of `state/engine.ts`, one by one. */
export function storageEngineSuite(
  name: string,
  makeHome: (t: TestContext) => EngineHome | Promise<EngineHome>,
  { unsupported = {} }: SuiteOptions = {},
): void {
  describe(`${name} storage engine`, () => {
    for (const [what, run] of Object.entries(cases)) {
      const skip = unsupported[what] ?? false
      test(what, { skip }, async (t) => await run(await makeHome(t)))
    }
    test('lists as unsupported only cases that exist', () => {
      assert.deepEqual(
        Object.keys(unsupported).filter((what) => !(what in cases)),
        [],
      )
    })
  })
}

const cases: Readonly<Record<string, (home: EngineHome) => Promise<void>>> = {
  'is empty when it was never written to': async (home) => {
    const engine = await home.open()
    assert.deepEqual(engine.initialPosition, {
      lastIndex: 0,
      firstIndex: 1,
      checkpoint: { upTo: 0, tableIndexes: {} },
    })
    assert.deepEqual(await entriesOf(engine), [])
    assert.deepEqual(await rowsOf(engine), [])
    assert.equal(await engine.readBlob('none'), undefined)
    await engine.close()
    assert.deepEqual((await home.open()).initialPosition, engine.initialPosition)
  },

  'reads entries in the order they were appended': async (home) => {
    const engine = await home.open()
    await engine.append([entry(1)])
    await engine.append([entry(2), entry(3), entry(4)])
    assert.deepEqual(await entriesOf(engine), [entry(1), entry(2), entry(3), entry(4)])
    assert.deepEqual(await entriesOf(engine, 3), [entry(3), entry(4)])
    assert.deepEqual(await entriesOf(engine, 4), [entry(4)])
    assert.deepEqual(await entriesOf(engine, 5), [])
    assert.deepEqual(await entriesOf(engine, 0), await entriesOf(engine, 1))
  },

  'takes an append of nothing': async (home) => {
    const engine = await home.open()
    await engine.append([])
    await engine.append([entry(1)])
    assert.deepEqual(await entriesOf(engine), [entry(1)])
  },

  'keeps entries in order past every power of ten': async (home) => {
    const engine = await home.open()
    const all = Array.from({ length: 1_100 }, (_, at) => entry(at + 1))
    for (let at = 0; at < all.length; at += 111) await engine.append(all.slice(at, at + 111))
    assert.deepEqual(await entriesOf(engine), all)
    assert.deepEqual(await entriesOf(engine, 999), all.slice(998))
  },

  'finds what was appended after reopening, and goes on from there': async (home) => {
    const first = await home.open()
    await first.append([entry(1), entry(2)])
    await first.close()
    const second = await home.open()
    assert.equal(second.initialPosition.lastIndex, 2)
    assert.equal(second.initialPosition.firstIndex, 1)
    await second.append([entry(3)])
    assert.deepEqual(await entriesOf(second), [entry(1), entry(2), entry(3)])
    await second.close()
    assert.equal((await home.open()).initialPosition.lastIndex, 3)
  },

  'refuses entries that leave a gap or come again': async (home) => {
    const engine = await home.open()
    await engine.append([entry(1)])
    await assert.rejects(engine.append([entry(3)]), /without a gap/)
    await assert.rejects(engine.append([entry(1)]), /without a gap/)
    await assert.rejects(engine.append([entry(2), entry(4)]), /without a gap/)
    await engine.append([entry(2)])
    assert.deepEqual(await entriesOf(engine), [entry(1), entry(2)])
  },

  'puts, replaces and deletes blobs with the entry that carries them': async (home) => {
    const engine = await home.open()
    await engine.append([withBlobs(entry(1), [blob('a', [1]), blob('b', [2, 3])])])
    assert.deepEqual(await bytesOf(engine, 'a'), [1])
    assert.deepEqual(await bytesOf(engine, 'b'), [2, 3])
    await engine.append([withBlobs(entry(2), [blob('a', [0, 255]), blob('b', undefined)])])
    assert.deepEqual(await bytesOf(engine, 'a'), [0, 255])
    assert.equal(await engine.readBlob('b'), undefined)
    await engine.close()
    const again = await home.open()
    assert.deepEqual(await bytesOf(again, 'a'), [0, 255])
    assert.equal(await again.readBlob('b'), undefined)
    assert.deepEqual(await entriesOf(again), [entry(1), entry(2)], 'entries are read without blobs')
  },

  'lets the last of several changes to one blob win': async (home) => {
    const engine = await home.open()
    await engine.append([
      withBlobs(entry(1), [blob('a', [1]), blob('a', [2])]),
      withBlobs(entry(2), [blob('a', undefined), blob('b', [9])]),
      withBlobs(entry(3), [blob('b', undefined), blob('b', [])]),
    ])
    assert.equal(await engine.readBlob('a'), undefined)
    assert.deepEqual(await bytesOf(engine, 'b'), [])
  },

  'keeps 10 MiB of any bytes exactly': async (home) => {
    const bytes = noise(10 * 1024 * 1024)
    const engine = await home.open()
    await engine.append([withBlobs(entry(1), [{ key: 'large', bytes }])])
    assert.ok(same(await engine.readBlob('large'), bytes))
    await engine.close()
    assert.ok(same(await (await home.open()).readBlob('large'), bytes))
  },

  'does not notice when the caller uses the bytes of a blob again': async (home) => {
    const engine = await home.open()
    const bytes = Uint8Array.of(1, 2, 3)
    await engine.append([withBlobs(entry(1), [{ key: 'a', bytes }])])
    bytes.fill(0)
    assert.deepEqual(await bytesOf(engine, 'a'), [1, 2, 3])
  },

  'keeps large entries': async (home) => {
    const engine = await home.open()
    const large = { ...entry(1), text: 'ü€"\n'.repeat(1_000_000) }
    await engine.append([large, entry(2)])
    await engine.close()
    assert.deepEqual(await entriesOf(await home.open()), [large, entry(2)])
  },

  'keeps any text in entries, tables, keys, rows and blob names': async (home) => {
    const engine = await home.open()
    let index = 0
    await fc.assert(
      fc.asyncProperty(anyText, anyText, anyText, async (text, table, key) => {
        index++
        const bytes = Uint8Array.of(index)
        await engine.append([{ index, timeMs: 0.5, text, blobs: [{ key, bytes }] }])
        await engine.checkpoint([{ table, key, text }], { upTo: index, tableIndexes: {} })
        const [read] = await entriesOf(engine, index)
        assert.deepEqual(read, { index, timeMs: 0.5, text, blobs: [] })
        assert.deepEqual(await bytesOf(engine, key), [...bytes])
        const found = (await rowsOf(engine)).find((one) => one.table === table && one.key === key)
        assert.equal(found?.text, text)
      }),
      { numRuns: 60, seed: 1 },
    )
  },

  'keeps a text that is given in parts, wherever it was cut': async (home) => {
    const engine = await home.open()
    let index = 0
    const cuts = fc.array(fc.nat({ max: 60 }), { maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(textWithPairs, cuts, async (text, places) => {
        index++
        const parts = cutAt(text, places)
        await engine.append([{ index, timeMs: 0.5, text: parts, blobs: [] }])
        assert.deepEqual(await entriesOf(engine, index), [{ index, timeMs: 0.5, text, blobs: [] }])
      }),
      { numRuns: 60, seed: 1 },
    )
  },

  'tells keys apart that look alike': async (home) => {
    const engine = await home.open()
    const rows = lookalikes.map(([table, key], at) => ({ table, key, text: String(at) }))
    await engine.checkpoint(rows, noMark)
    assert.deepEqual(sorted(await rowsOf(engine)), sorted(rows))
  },

  'writes, replaces and deletes rows at a checkpoint': async (home) => {
    const engine = await home.open()
    await engine.append([entry(1), entry(2)])
    await engine.checkpoint([row('jobs', 'a', '1'), row('jobs', 'b', '1'), row('nodes', 'a', '')], {
      upTo: 1,
      tableIndexes: { jobs: 1, nodes: 1 },
    })
    await engine.checkpoint([row('jobs', 'a', '2'), row('jobs', 'b', undefined)], {
      upTo: 2,
      tableIndexes: { jobs: 2, nodes: 1 },
    })
    const wanted = [row('jobs', 'a', '2'), row('nodes', 'a', '')]
    assert.deepEqual(sorted(await rowsOf(engine)), sorted(wanted))
    await engine.close()
    const again = await home.open()
    assert.deepEqual(sorted(await rowsOf(again)), sorted(wanted))
    assert.deepEqual(again.initialPosition, {
      lastIndex: 2,
      firstIndex: 1,
      checkpoint: { upTo: 2, tableIndexes: { jobs: 2, nodes: 1 } },
    })
    assert.deepEqual(await entriesOf(again), [entry(1), entry(2)], 'a checkpoint trims nothing')
  },

  'loads many rows, each once': async (home) => {
    const engine = await home.open()
    const rows = Array.from({ length: 5_000 }, (_, at) => row('jobs', `job-${at}`, `text ${at}`))
    await engine.checkpoint(rows, noMark)
    assert.deepEqual(sorted(await rowsOf(engine)), sorted(rows))
  },

  'does no harm when a checkpoint is written again': async (home) => {
    const engine = await home.open()
    await engine.append([entry(1)])
    const rows = [row('jobs', 'a', '1'), row('jobs', 'b', undefined)]
    const mark = { upTo: 1, tableIndexes: { jobs: 1 } }
    await engine.checkpoint(rows, mark)
    await engine.checkpoint(rows, mark)
    assert.deepEqual(await rowsOf(engine), [row('jobs', 'a', '1')])
  },

  'leaves the mark where it was when a checkpoint is interrupted': async (home) => {
    const engine = await home.open()
    await engine.append([entry(1), entry(2)])
    await engine.checkpoint([row('jobs', 'a', '1')], { upTo: 1, tableIndexes: { jobs: 1 } })
    const interrupted = function* (): Generator<CheckpointRow> {
      for (let at = 0; at < 2_000; at++) yield row('jobs', `b${at}`, 'x'.repeat(500))
      throw new Error('interrupted')
    }
    await assert.rejects(
      engine.checkpoint(interrupted(), { upTo: 2, tableIndexes: { jobs: 2 } }),
      /interrupted/,
    )
    // What the caller did wrong is no failure of the engine.
    await engine.append([entry(3)])
    await engine.close()
    const again = await home.open()
    assert.deepEqual(again.initialPosition.checkpoint, { upTo: 1, tableIndexes: { jobs: 1 } })
    const tail = [entry(2), entry(3)]
    assert.deepEqual(await entriesOf(again, 2), tail, 'the tail is still there to be applied')
    // Some of the rows may be there already: applying the tail and writing again puts it right.
    await again.checkpoint([...interruptedRows()], { upTo: 2, tableIndexes: { jobs: 2 } })
    assert.deepEqual(await rowsOf(again), [row('jobs', 'a', '1')])
  },

  'refuses a mark that moves back or names entries that do not exist': async (home) => {
    const engine = await home.open()
    await engine.append([entry(1), entry(2)])
    await engine.checkpoint([], { upTo: 2, tableIndexes: {} })
    await assert.rejects(engine.checkpoint([], { upTo: 1, tableIndexes: {} }), /moves back/)
    await assert.rejects(engine.checkpoint([], { upTo: 3, tableIndexes: {} }), /durable/)
  },

  'trims the log, never past the checkpoint': async (home) => {
    const engine = await home.open()
    await engine.append([1, 2, 3, 4, 5].map(entry))
    await engine.trim(4)
    assert.deepEqual(await entriesOf(engine), [1, 2, 3, 4, 5].map(entry), 'no checkpoint, no trim')
    await engine.checkpoint([], { upTo: 3, tableIndexes: {} })
    await engine.trim(2)
    assert.deepEqual(await entriesOf(engine), [2, 3, 4, 5].map(entry))
    await engine.trim(5)
    assert.deepEqual(await entriesOf(engine), [4, 5].map(entry), 'clamped to the checkpoint')
    await engine.trim(1)
    assert.deepEqual(await entriesOf(engine, 1), [4, 5].map(entry))
    await engine.close()
    const again = await home.open()
    assert.equal(again.initialPosition.firstIndex, 4)
    assert.equal(again.initialPosition.lastIndex, 5)
  },

  'remembers its last index when the whole log is trimmed': async (home) => {
    const engine = await home.open()
    await engine.append([1, 2, 3].map(entry))
    await engine.checkpoint([], { upTo: 3, tableIndexes: {} })
    await engine.trim(Number.POSITIVE_INFINITY)
    assert.deepEqual(await entriesOf(engine), [])
    await engine.close()
    const again = await home.open()
    assert.equal(again.initialPosition.firstIndex, 4)
    assert.equal(again.initialPosition.lastIndex, 3)
    await again.append([entry(4)])
    assert.deepEqual(await entriesOf(again), [entry(4)])
  },

  'trims long logs': async (home) => {
    const engine = await home.open()
    await engine.append(Array.from({ length: 5_000 }, (_, at) => entry(at + 1)))
    await engine.checkpoint([], { upTo: 5_000, tableIndexes: {} })
    await engine.trim(4_991)
    assert.equal((await entriesOf(engine)).length, 10)
  },

  'keeps blobs when the entry that put them is trimmed': async (home) => {
    const engine = await home.open()
    await engine.append([withBlobs(entry(1), [blob('a', [7])])])
    await engine.checkpoint([], { upTo: 1, tableIndexes: {} })
    await engine.trim(2)
    await engine.close()
    assert.deepEqual(await bytesOf(await home.open(), 'a'), [7])
  },

  'reads up to the last entry at the time of the call': async (home) => {
    const engine = await home.open()
    await engine.append([entry(1), entry(2)])
    const reading = engine.read(1)
    await engine.append([entry(3)])
    assert.equal((await collect(reading)).length, 2)
    assert.deepEqual(await entriesOf(engine), [entry(1), entry(2), entry(3)])
  },

  'reads and loads while it is written to': async (home) => {
    const engine = await home.open()
    const rows = Array.from({ length: 3_000 }, (_, at) => row('jobs', `job-${at}`, 'v'.repeat(100)))
    await engine.append(Array.from({ length: 3_000 }, (_, at) => entry(at + 1)))
    await engine.checkpoint(rows, { upTo: 1_000, tableIndexes: {} })
    const seen: number[] = []
    let loaded = 0
    const reading = engine.read(501)
    const loading = engine.load()
    const writing = (async () => {
      for (let index = 3_001; index <= 3_050; index++) await engine.append([entry(index)])
    })()
    const keeping = (async () => {
      await engine.checkpoint([row('jobs', 'job-0', 'changed')], { upTo: 2_000, tableIndexes: {} })
      await engine.trim(500)
    })()
    for await (const page of loading) loaded += page.length
    for await (const { index } of reading) seen.push(index)
    await Promise.all([writing, keeping])
    assert.equal(loaded, 3_000)
    assert.deepEqual(
      seen,
      Array.from({ length: 2_500 }, (_, at) => at + 501),
    )
    assert.equal((await entriesOf(engine, 3_000)).length, 51)
  },

  'may be left in the middle of a read': async (home) => {
    const engine = await home.open()
    await engine.append(Array.from({ length: 2_000 }, (_, at) => entry(at + 1)))
    for await (const { index } of engine.read(1)) if (index === 3) break
    await engine.append([entry(2_001)])
    await engine.close()
    assert.equal((await home.open()).initialPosition.lastIndex, 2_001)
  },

  'waits for running calls when it closes': async (home) => {
    const engine = await home.open()
    const settled: string[] = []
    const appending = engine.append([entry(1)]).then(() => settled.push('append'))
    const closing = engine.close().then(() => settled.push('close'))
    await Promise.all([appending, closing])
    assert.deepEqual(settled, ['append', 'close'])
    assert.equal((await home.open()).initialPosition.lastIndex, 1)
  },

  'rejects every call after closing, and closes twice without complaint': async (home) => {
    const engine = await home.open()
    await engine.append([entry(1)])
    const begun = engine.read(1)
    await Promise.all([engine.close(), engine.close()])
    await engine.close()
    const closed = { name: 'Fault', kind: 'storage-closed' }
    await assert.rejects(engine.append([entry(2)]), closed)
    await assert.rejects(engine.checkpoint([], noMark), closed)
    await assert.rejects(engine.trim(1), closed)
    await assert.rejects(engine.readBlob('a'), closed)
    await assert.rejects(collect(engine.load()), closed)
    await assert.rejects(collect(engine.read(1)), closed)
    await assert.rejects(collect(begun), closed)
  },

  'stops a reader that is behind when it closes': async (home) => {
    const engine = await home.open()
    await engine.append(
      Array.from({ length: 5_000 }, (_, at) => ({ ...entry(at + 1), text: 'x'.repeat(2_000) })),
    )
    const reading = engine.read(1)[Symbol.asyncIterator]()
    assert.equal((await reading.next()).value?.index, 1)
    await engine.close()
    const rest = async (): Promise<void> => {
      while ((await reading.next()).done !== true);
    }
    await assert.rejects(rest(), { kind: 'storage-closed' })
  },
}

function entry(index: number): LogEntry {
  return { index, timeMs: 1_700_000_000_000 + index, text: `{"commit":${index}}`, blobs: [] }
}

function withBlobs(base: LogEntry, blobs: readonly BlobChange[]): LogEntry {
  return { ...base, blobs }
}

function blob(key: string, bytes: readonly number[] | undefined): BlobChange {
  return { key, bytes: bytes === undefined ? undefined : Uint8Array.from(bytes) }
}

function row(table: string, key: string, text: string | undefined): CheckpointRow {
  return { table, key, text }
}

function* interruptedRows(): Generator<CheckpointRow> {
  for (let at = 0; at < 2_000; at++) yield row('jobs', `b${at}`, undefined)
}

const noMark = { upTo: 0, tableIndexes: {} }

/** Every string a program can hold, also those that are not text: unpaired surrogates, NUL. */
const anyText = fc
  .string({ unit: 'binary', maxLength: 40 })
  .chain((text) =>
    fc.constantFrom(text, `${text}\ud800`, `\udc00${text}`, `${text}\u0000`, `\u0001${text}\n`),
  )

/** Also characters of two units, which a cut may part. */
const textWithPairs = fc
  .array(fc.oneof(anyText, fc.constantFrom('\u{1f980}', '\u{10ffff}\u{10000}')), { maxLength: 4 })
  .map((texts) => texts.join(''))

function cutAt(text: string, places: readonly number[]): string[] {
  const ends = [...places.toSorted((a, b) => a - b), text.length]
  return ends.map((end, i) => text.slice(i === 0 ? 0 : ends[i - 1], end))
}

const lookalikes = [
  ['a', 'b\u0000c'],
  ['a\u0000b', 'c'],
  ['a', ''],
  ['', 'a'],
  ['', ''],
  ['a', '\u0001'],
  ['a', '\u00010001'],
  ['a', '\ud800'],
  ['a', '\ud801'],
  ['a', '\ufffd'],
  ['ä', 'x'],
  ['a\u0308', 'x'],
] as const

/** Bytes without a pattern that a compressor could find, the same every time. */
function noise(length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let state = 1
  for (let at = 0; at < length; at++) {
    state = Math.imul(state, 48_271) + 11
    bytes[at] = state >>> 24
  }
  return bytes
}

function same(found: Uint8Array | undefined, wanted: Uint8Array): boolean {
  return found !== undefined && Buffer.compare(found, wanted) === 0
}

async function bytesOf(engine: StorageEngine, key: string): Promise<number[] | undefined> {
  const bytes = await engine.readBlob(key)
  return bytes === undefined ? undefined : [...bytes]
}

/** As much of each entry as every engine gives. */
async function entriesOf(engine: StorageEngine, from = 1): Promise<LogEntry[]> {
  const entries = await collect(engine.read(from))
  return entries.map(({ index, timeMs, text, blobs }) => ({ index, timeMs, text, blobs }))
}

async function rowsOf(engine: StorageEngine): Promise<CheckpointRow[]> {
  const rows = (await collect(engine.load())).flat()
  return rows.map((one) => row(one.table, one.key, joinStoredRow(one)))
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

function sorted(rows: readonly CheckpointRow[]): string[] {
  return rows.map((one) => JSON.stringify([one.table, one.key, one.text])).toSorted()
}
