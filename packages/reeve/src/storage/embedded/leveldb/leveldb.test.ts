import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ClassicLevel } from 'classic-level'
import { CorruptFileError, crc32c, unmaskCrc } from './byte-reader.ts'
import { verifyDatabase } from './verify-database.ts'
import { readManifest, readRecordLog } from './record-log.ts'
import { uncompressSnappy, verifyTable } from './table-file.ts'

test('crc32c gives the published values', () => {
  const cases = [
    { bytes: Buffer.from('123456789'), crc: 0xe3069283 },
    { bytes: Buffer.alloc(32), crc: 0x8a9136aa },
    { bytes: Buffer.alloc(32, 0xff), crc: 0x62a8ab43 },
    { bytes: Buffer.from(Array.from({ length: 32 }, (_, at) => at)), crc: 0x46dd794e },
    { bytes: Buffer.alloc(0), crc: 0 },
  ]
  for (const { bytes, crc } of cases) assert.equal(crc32c(bytes, 0, bytes.length), crc)
})

test('unmaskedCrc undoes the rotation and the shift', () => {
  const crc = 0xe3069283
  const masked = (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
  assert.equal(unmaskCrc(masked), crc)
})

const compressed = [
  { name: 'a literal', bytes: [3, 2 << 2, 97, 98, 99], text: 'abc' },
  { name: 'a short copy', bytes: [6, 1 << 2, 97, 98, 1 | (0 << 2), 2], text: 'ababab' },
  { name: 'a copy with two bytes of offset', bytes: [4, 0, 120, 2 | (2 << 2), 1, 0], text: 'xxxx' },
  {
    name: 'a copy with four bytes of offset',
    bytes: [4, 0, 120, 3 | (2 << 2), 1, 0, 0, 0],
    text: 'xxxx',
  },
  {
    name: 'a long literal',
    bytes: [70, 60 << 2, 69, ...Buffer.alloc(70, 'y')],
    text: 'y'.repeat(70),
  },
  { name: 'nothing', bytes: [0], text: '' },
]
for (const c of compressed) {
  test(`uncompressSnappy reads ${c.name}`, () => {
    assert.equal(Buffer.from(uncompressSnappy(Uint8Array.from(c.bytes))).toString(), c.text)
  })
}

const malformed = [
  { name: 'a copy from before the start', bytes: [4, 0, 120, 2 | (2 << 2), 2, 0] },
  { name: 'a copy from nowhere', bytes: [4, 0, 120, 2 | (2 << 2), 0, 0] },
  { name: 'more than it claims', bytes: [1, 1 << 2, 97, 98] },
  { name: 'less than it claims', bytes: [3, 0, 97] },
  { name: 'a literal that is cut off', bytes: [9, 8 << 2, 97] },
  { name: 'an absurd length', bytes: [0xff, 0xff, 0xff, 0xff, 0x0f, 0, 97] },
  { name: 'an endless number', bytes: Array.from({ length: 12 }, () => 0xff) },
  { name: 'nothing at all', bytes: [] },
]
for (const c of malformed) {
  test(`uncompressSnappy refuses ${c.name}`, () => {
    assert.throws(() => uncompressSnappy(Uint8Array.from(c.bytes)), CorruptFileError)
  })
}

test('a log is read record by record, also those longer than a block', () => {
  const sizes = [0, 1, 32_761, 32_754, 3, 100_000, 65_522, 7]
  const written = sizes.map((size, at) => Buffer.alloc(size, at + 1))
  const read: Buffer[] = []
  const end = readRecordLog(recordLog(written), (parts) => read.push(Buffer.concat(parts)))
  assert.deepEqual(read, written)
  const log = recordLog(written)
  assert.deepEqual(end, { records: sizes.length, bytes: log.length, isTorn: false })
})

test('a log that was cut anywhere keeps the records before and is torn, not damaged', () => {
  const log = recordLog([Buffer.alloc(100, 1), Buffer.alloc(40_000, 2), Buffer.alloc(50, 3)])
  for (let length = 0; length < log.length; length += 13) {
    const { records } = readRecordLog(log.subarray(0, length), () => undefined)
    assert.equal(records, length < 107 ? 0 : length < 107 + 40_014 ? 1 : 2)
  }
})

test('a last record with sectors that never reached the disk is torn, not damaged', () => {
  const log = recordLog([Buffer.alloc(2_000, 1), Buffer.alloc(5_000, 2)])
  log.fill(0, 4_096, 4_608)
  assert.deepEqual(
    readRecordLog(log, () => undefined),
    { records: 1, bytes: 2_007, isTorn: true },
  )
  log.fill(0, 2_007)
  assert.deepEqual(
    readRecordLog(log, () => undefined),
    { records: 1, bytes: 2_007, isTorn: true },
  )
})

test('a changed byte in any record is damage', () => {
  const log = recordLog([Buffer.alloc(300, 1), Buffer.alloc(40_000, 2), Buffer.alloc(300, 3)])
  const inLengthOfLast = [log.length - 303, log.length - 302] // may look as if it were cut off
  for (let at = 0; at < log.length; at += at % 1_000 < 20 ? 1 : 31) {
    if (inLengthOfLast.includes(at)) continue
    const changed = Buffer.from(log)
    changed[at] = (changed[at] ?? 0) ^ 0x10
    assert.throws(() => readRecordLog(changed, () => undefined), CorruptFileError, `byte ${at}`)
  }
})

test('sectors of zeros are damage when later records prove they were written', () => {
  const log = recordLog([Buffer.alloc(1_000, 1), Buffer.alloc(40_000, 2), Buffer.alloc(40_000, 3)])
  log.fill(0, 512, 1_024)
  assert.throws(() => readRecordLog(log, () => undefined), CorruptFileError)
})

test('any changed byte in a table of a real database is noticed', async (t) => {
  const folder = await aDatabase(t)
  await verifyDatabase(folder, { isSkipped: () => false, wal: { number: 0, bytes: 0 } })
  const names = await readdir(folder)
  const current = (await readFile(join(folder, 'CURRENT'), 'utf8')).trim()
  const manifest = readManifest(await readFile(join(folder, current)))
  assert.ok(manifest.tables.size >= 2)
  for (const table of manifest.tables.values()) {
    const name = names.find((one) => Number.parseInt(one, 10) === table.number) ?? ''
    const file = await readFile(join(folder, name))
    assert.equal(file.length, table.bytes)
    assert.ok(table.firstKey <= table.lastKey && table.firstKey.startsWith('key-'))
    verifyTable(file)
    for (let at = 0; at < file.length; at += at > file.length - 300 ? 1 : 487) {
      // Between the handles and the closing mark of a table lie unused bytes.
      const changed = Buffer.from(file)
      changed[at] = (changed[at] ?? 0) ^ 0x40
      if (!isPadding(file, at))
        assert.throws(() => verifyTable(changed), CorruptFileError, `byte ${at}`)
    }
  }
})

test('a table that is cut short is refused', async (t) => {
  const folder = await aDatabase(t)
  const name = (await readdir(folder)).find((one) => one.endsWith('.ldb')) ?? ''
  const file = await readFile(join(folder, name))
  for (const length of [0, 1, 47, 48, file.length >> 1, file.length - 1]) {
    assert.throws(() => verifyTable(file.subarray(0, length)), CorruptFileError)
  }
})

function isPadding(file: Buffer, at: number): boolean {
  const footer = file.length - 48
  return (
    at >= footer && at < file.length - 8 && file.subarray(at, file.length - 8).every((b) => b === 0)
  )
}

async function aDatabase(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'reeve-leveldb-'))
  t.after(() => rm(folder, { recursive: true }))
  const level = new ClassicLevel(folder, { writeBufferSize: 64 * 1024 })
  for (let at = 0; at < 3_000; at++) await level.put(`key-${at}`, `value ${at * 7_919} `.repeat(12))
  await level.close()
  return folder
}

/** Writes records as the database does: in fragments that never cross a block. */
function recordLog(records: readonly Buffer[]): Buffer {
  const parts: Buffer[] = []
  let at = 0
  for (const record of records) {
    for (let from = 0; ;) {
      if (32_768 - (at % 32_768) < 7) {
        parts.push(Buffer.alloc(32_768 - (at % 32_768)))
        at += 32_768 - (at % 32_768)
      }
      const room = 32_768 - (at % 32_768) - 7
      const content = record.subarray(from, from + room)
      const [first, last] = [from === 0, from + content.length === record.length]
      const kind = first && last ? 1 : first ? 2 : last ? 4 : 3
      parts.push(fragment(kind, content))
      at += 7 + content.length
      from += content.length
      if (last) break
    }
  }
  return Buffer.concat(parts)
}

function fragment(kind: number, content: Buffer): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(7), content])
  bytes.writeUInt16LE(content.length, 4)
  bytes[6] = kind
  const crc = crc32c(bytes, 6, bytes.length)
  bytes.writeUInt32LE((((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0, 0)
  return bytes
}
