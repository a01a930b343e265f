import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import fc from 'fast-check'
import { joinChunks } from '@reeve/kit/string-chunks.ts'
import type { LogEntry } from '../../../state/index.ts'
import { aLogEntry, contentOf } from '../../../../test/build/data-directory.ts'
import { temporaryDirectory } from '../../../../test/build/temporary-directory.ts'
import { scanLog } from './segment.ts'
import { ChunkedBuffer, decodeEntries, isRecordIntact, RecordEncoder } from './record.ts'
import { SegmentedLog } from './segmented-log.ts'

/** Some eight entries a file. */
const SMALL = { segmentBytesMax: 8 * 1024 }

test('log: entries survive an encode and decode round trip', () => {
  // Small chunks, so that everything is cut by their borders somewhere.
  const writer = new RecordEncoder(new ChunkedBuffer(48))
  const text = fc.string({ unit: 'binary' })
  const blob = fc.record({
    key: text,
    bytes: fc.option(fc.uint8Array(), { nil: undefined }),
  })
  const parted = fc.oneof(text, fc.array(text))
  const entry = fc.record({ timeMs: fc.nat(), text: parted, blobs: fc.array(blob) })
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1 }), fc.nat(), (list, salt) => {
      const entries = list.map((one, at) => ({ index: at + 7, ...one }))
      const record = Buffer.concat(writer.encode(entries, salt))
      assert.ok(isRecordIntact(record, salt))
      assert.ok(!isRecordIntact(record, salt + 1))
      const whole = entries.map((one) => ({ ...one, text: joinChunks(one.text) }))
      assert.deepEqual(asLists([...decodeEntries(record)]), asLists(whole))
    }),
  )
})

test('log: an entry larger than the buffer is written completely', () => {
  const writer = new RecordEncoder()
  const large = { index: 1, timeMs: 0, text: 'ü'.repeat(5_000_000), blobs: [] }
  for (const entries of [[large], [aLogEntry(1)]]) {
    const record = Buffer.concat(writer.encode(entries, 1))
    assert.ok(isRecordIntact(record, 1))
    assert.deepEqual([...decodeEntries(record)], entries)
  }
})

test('log: a resolved append is durable', async (t) => {
  if (process.platform !== 'linux') return t.skip('elsewhere each append is synced by another call')
  const folder = join(await temporaryDirectory(t), 'log')
  const made = await SegmentedLog.create(folder, 1, SMALL)
  await made.append([aLogEntry(1)])
  assert.deepEqual(await flagsOfOpen(folder), [true])
  await made.close()
  const again = await SegmentedLog.open(folder, await scanLog(folder, 0), SMALL)
  assert.deepEqual(await flagsOfOpen(folder), [true])
  await again.close()
})

/** Of each file in a folder that this process has open: whether that was with O_DSYNC. */
async function flagsOfOpen(folder: string): Promise<boolean[]> {
  const found: boolean[] = []
  for (const fd of await fs.readdir('/proc/self/fd')) {
    const path = await fs.readlink(`/proc/self/fd/${fd}`).catch(() => '')
    if (!path.startsWith(folder)) continue
    const flags = /^flags:\s*(\d+)/m.exec(await fs.readFile(`/proc/self/fdinfo/${fd}`, 'utf8'))
    const { O_DSYNC } = fs.constants
    found.push((Number.parseInt(flags?.[1] ?? '', 8) & O_DSYNC) === O_DSYNC)
  }
  return found
}

function shared<T>(some: ReadonlySet<T>, others: ReadonlySet<T>): number {
  return [...some].filter((one) => others.has(one)).length
}

test('log: append buffers are reused up to a limit', () => {
  const bytes = new ChunkedBuffer(16)
  const fill = (texts: readonly string[]): Set<ArrayBufferLike> => {
    bytes.clear()
    const begin = bytes.position
    for (const text of texts) bytes.addText(text)
    const pieces = bytes.slicesFrom(begin)
    assert.equal(Buffer.concat(pieces).toString(), texts.join(''))
    return new Set(pieces.map(({ buffer }) => buffer))
  }
  const short = Array.from({ length: 20 }, () => 'abcde')
  const first = fill(short)
  assert.deepEqual(fill(short), first)
  const chunks = fill(Array.from({ length: 500 }, () => 'abcde'))
  assert.equal(shared(chunks, first), first.size)
  const long = fill(['a'.repeat(1_000)])
  assert.equal(long.size, 1)
  const again = fill(Array.from({ length: 500 }, () => 'abcde'))
  assert.equal(shared(again, chunks), 32)
  assert.equal(shared(again, long), 0)
})

test('log: a range is read across segments', async (t) => {
  const { log, folder } = await aLog(t)
  await appendTo(log, 60)
  assert.ok((await fs.readdir(folder)).length > 5)
  for (const [from, to] of [
    [1, 60],
    [1, 1],
    [60, 60],
    [9, 33],
    [17, 16],
  ] as const)
    assert.deepEqual(await indexesOf(log, from, to), indexes(from, to))
  await log.close()
})

test('log: reading starts near the requested index', async (t) => {
  const { log, folder } = await aLog(t, {})
  const text = 'x'.repeat(100_000)
  for (let index = 1; index <= 50; index++)
    await log.append([{ index, timeMs: 0, text, blobs: [] }])
  const again = await scanLog(folder, 0)
  const places = again.segments[0]?.sparseIndex ?? []
  assert.deepEqual(
    places.map(({ index }) => index),
    [1, 12, 23, 34, 45],
  )
  // What stands before is not looked at.
  const handle = await fs.open(join(folder, '0000000000000001.log'), 'r+')
  await handle.write(Buffer.from('damage'), 0, 6, 3_000)
  await handle.close()
  assert.deepEqual(await indexesOf(log, 13, 50), indexes(13, 50))
  await assert.rejects(indexesOf(log, 11, 50), /at byte 40: a checksum does not match/)
  await log.close()
})

test('log: trimmed segments are removed unless a reader needs them', async (t) => {
  const { log, folder } = await aLog(t)
  await appendTo(log, 40)
  const reader = log.read(5, 40)
  const { value } = await reader.next()
  assert.equal(value?.[0]?.index, 5)
  await log.trim(30)
  assert.equal(log.firstIndex, 1)
  const rest = (await contentOf(reader)).flat().map(({ index }) => index)
  assert.deepEqual(rest, indexes(6, 40))
  await log.trim(30)
  assert.ok(log.firstIndex > 20 && log.firstIndex <= 30, String(log.firstIndex))
  assert.deepEqual(await indexesOf(log, 30, 40), indexes(30, 40))
  await assert.rejects(indexesOf(log, 5, 40), /log entry 5 is missing/)
  await log.trim(1_000)
  assert.equal((await fs.readdir(folder)).length, 1, 'the newest stays')
  await log.append([aLogEntry(41)])
  await log.close()
  const again = await scanLog(folder, 0)
  assert.equal(again.end.index, 42)
})

test('log: a cancelled reader keeps no segment', async (t) => {
  const { log } = await aLog(t)
  await appendTo(log, 40)
  for await (const page of log.read(1, 40)) if (page[0]?.index === 3) break
  await log.trim(30)
  assert.ok(log.firstIndex > 20)
  await log.close()
})

test('log: a torn tail is truncated before the next append', async (t) => {
  const { log, folder } = await aLog(t, {})
  await appendTo(log, 3)
  await log.close()
  const file = join(folder, '0000000000000001.log')
  const whole = await fs.readFile(file)
  // Half a record, and what looks like a record in it, of another file.
  const other = new RecordEncoder().encode([aLogEntry(4)], 12_345)
  await fs.appendFile(file, Buffer.concat([whole.subarray(40, 240), ...other]))
  const inspected = await scanLog(folder, 0)
  assert.deepEqual(inspected.end, {
    index: 4,
    offset: whole.length,
    isTorn: true,
    tornBytes: inspected.end.tornBytes,
  })
  assert.ok(inspected.end.tornBytes > 0)
  await (await SegmentedLog.open(folder, inspected)).close()
  assert.deepEqual(await fs.readFile(file), whole)
})

test('log: damage before an intact record is reported as loss', async (t) => {
  const { log, folder } = await aLog(t, {})
  await appendTo(log, 3)
  await log.close()
  const file = join(folder, '0000000000000001.log')
  const bytes = await fs.readFile(file)
  // The head of the second record, with its length: nothing says where the third begins.
  const second = 40 + (bytes.length - 40) / 3
  bytes.fill(0, second, second + 28)
  await fs.writeFile(file, bytes)
  await assert.rejects(scanLog(folder, 0), {
    name: 'DamagedLog',
    message: /at byte \d+: a checksum does not match, and later records follow/,
  })
})

async function aLog(t: TestContext, options: object = SMALL) {
  const folder = join(await temporaryDirectory(t), 'log')
  return { folder, log: await SegmentedLog.create(folder, 1, options) }
}

async function appendTo(log: SegmentedLog, last: number): Promise<void> {
  for (const index of indexes(1, last)) await log.append([aLogEntry(index)])
}

async function indexesOf(log: SegmentedLog, from: number, to: number): Promise<number[]> {
  return (await contentOf(log.read(from, to))).flat().map(({ index }) => index)
}

function indexes(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at)
}

/** Bytes as numbers: a Buffer and an array of bytes are told apart otherwise. */
function asLists(entries: readonly LogEntry[]) {
  return entries.map((entry) => ({
    ...entry,
    blobs: entry.blobs.map(({ key, bytes }) => ({ key, bytes: bytes && [...bytes] })),
  }))
}
