import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { ClassicLevel } from 'classic-level'
import {
  aLogEntry,
  assertRefused,
  changeByte,
  collectWarnings,
  contentOf,
  everythingIn,
  fillDataDirectory,
  levelFile,
  logFile,
  neededOf,
  onDatabase,
  writeFormat,
} from '../../../test/build/data-directory.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import * as layout from './row-format.ts'
import { openEmbeddedEngine, type EmbeddedEngineOptions } from './open-embedded-engine.ts'

// Each case damages a directory that was closed properly. Opening must say so and touch nothing.
const refusals: readonly {
  readonly name: string
  readonly damage: (directory: string) => Promise<unknown>
  readonly kind: string
  readonly says: RegExp
}[] = [
  {
    name: 'a changed byte in a table',
    damage: async (dir) => await changeByte(await levelFile(dir, '.ldb'), 100),
    kind: 'storage-corrupt',
    says: /is damaged: the file \d+\.ldb at byte 0: a checksum does not match\. .*backup/,
  },
  {
    name: 'a table that is cut short',
    damage: async (dir) => await fs.truncate(await levelFile(dir, '.ldb'), 1_000),
    kind: 'storage-corrupt',
    says: /the file \d+\.ldb has 1000 bytes, \d+ were written/,
  },
  {
    name: 'a missing table',
    damage: async (dir) => await fs.rm(await levelFile(dir, '.ldb')),
    kind: 'storage-corrupt',
    says: /the file \d+\.ldb is missing/,
  },
  {
    name: 'a changed byte in the write-ahead log',
    damage: async (dir) => await changeByte(await levelFile(dir, '.log'), 20),
    kind: 'storage-corrupt',
    says: /the file \d+\.log at byte 0: a checksum does not match, and later records follow/,
  },
  {
    name: 'a write-ahead log that lost its end',
    damage: async (dir) => await fs.truncate(await levelFile(dir, '.log'), 100),
    kind: 'storage-corrupt',
    says: /the file \d+\.log is sound for 0 bytes, \d+ were written/,
  },
  {
    name: 'a missing write-ahead log',
    damage: async (dir) => await fs.rm(await levelFile(dir, '.log')),
    kind: 'storage-corrupt',
    says: /the file \d+\.log is missing/,
  },
  {
    name: 'a changed byte in the log',
    damage: async (dir) => {
      const file = await logFile(dir, -1)
      await changeByte(file, (await fs.stat(file)).size - 4_000)
    },
    kind: 'storage-corrupt',
    says: /the file \d+\.log at byte \d+: a checksum does not match, and later records follow/,
  },
  {
    name: 'a changed byte in the last entry of the log',
    damage: async (dir) => {
      const file = await logFile(dir, -1)
      await changeByte(file, (await fs.stat(file)).size - 50)
    },
    kind: 'storage-corrupt',
    says: /the log ends at 39, but had come to 40/,
  },
  {
    name: 'a log that lost its end',
    damage: async (dir) => {
      const file = await logFile(dir, -1)
      await fs.truncate(file, (await fs.stat(file)).size - 1)
    },
    kind: 'storage-corrupt',
    says: /the log ends at 39, but had come to 40/,
  },
  {
    name: 'a log whose newest file is missing',
    damage: async (dir) => await fs.rm(await logFile(dir, -1)),
    kind: 'storage-corrupt',
    says: /the log ends at \d+, but had come to 40/,
  },
  {
    name: 'a file of the log without its head',
    damage: async (dir) => await changeByte(await logFile(dir, -1), 3),
    kind: 'storage-corrupt',
    says: /the file \d+\.log at byte 0: it does not begin as a file of the log/,
  },
  {
    name: 'a file of the log under the name of another',
    damage: async (dir) =>
      await fs.rename(await logFile(dir, -1), join(dir, 'log', '0000000000000077.log')),
    kind: 'storage-corrupt',
    says: /the file 0+77\.log at byte 0: it does not begin/,
  },
  {
    name: 'a log without files',
    damage: async (dir) => {
      for (const name of await fs.readdir(join(dir, 'log'))) await fs.rm(join(dir, 'log', name))
    },
    kind: 'storage-corrupt',
    says: /the log has no file/,
  },
  {
    name: 'a missing log',
    damage: async (dir) => await fs.rm(join(dir, 'log'), { recursive: true }),
    kind: 'storage-corrupt',
    says: /the folder log is missing/,
  },
  {
    name: 'a changed byte in the manifest',
    damage: async (dir) => await changeByte(await levelFile(dir, 'MANIFEST-'), 30),
    kind: 'storage-corrupt',
    says: /the file MANIFEST-\d+ at byte 0/,
  },
  {
    name: 'a missing manifest',
    damage: async (dir) => await fs.rm(await levelFile(dir, 'MANIFEST-')),
    kind: 'storage-corrupt',
    says: /the file MANIFEST-\d+ is missing/,
  },
  {
    name: 'a missing CURRENT',
    damage: async (dir) => await fs.rm(join(dir, 'level', 'CURRENT')),
    kind: 'storage-corrupt',
    says: /the file CURRENT is missing/,
  },
  {
    name: 'an unreadable CURRENT',
    damage: async (dir) => await fs.writeFile(join(dir, 'level', 'CURRENT'), '../../etc/passwd\n'),
    kind: 'storage-corrupt',
    says: /the file CURRENT is unreadable/,
  },
  {
    name: 'a missing database',
    damage: async (dir) => await fs.rm(join(dir, 'level'), { recursive: true }),
    kind: 'storage-corrupt',
    says: /the folder level is missing/,
  },
  {
    name: 'a missing REACHED',
    damage: async (dir) => await fs.rm(join(dir, 'REACHED')),
    kind: 'storage-corrupt',
    says: /the file REACHED is missing/,
  },
  {
    name: 'an unreadable REACHED',
    damage: async (dir) => await changeByte(join(dir, 'REACHED'), 12),
    kind: 'storage-corrupt',
    says: /REACHED is unreadable/,
  },
  {
    name: 'a missing FORMAT',
    damage: async (dir) => await fs.rm(join(dir, 'FORMAT')),
    kind: 'storage-corrupt',
    says: /the file FORMAT is missing/,
  },
  {
    name: 'an unreadable FORMAT',
    damage: async (dir) => await fs.writeFile(join(dir, 'FORMAT'), '\u0000\u0000\u0000'),
    kind: 'storage-corrupt',
    says: /FORMAT is unreadable/,
  },
  {
    name: 'a newer format',
    damage: async (dir) => await writeFormat(dir, 4),
    kind: 'storage-version',
    says: /has format 4, this program reads formats 1 to 3\. A newer Reeve wrote it/,
  },
  {
    name: 'an older format',
    damage: async (dir) => await writeFormat(dir, 0),
    kind: 'storage-version',
    says: /has format 0, this program reads formats 1 to 3\. An older Reeve wrote it/,
  },
]
for (const c of refusals) {
  test(`opening refuses ${c.name} and changes nothing`, async (t) => {
    const directory = await fillDataDirectory(await temporaryDirectory(t))
    await c.damage(directory)
    await assertRefused(directory, c.kind, c.says)
  })
}

// What the files cannot show is found after the database was opened: then no key or value changes.
const logicalDamage = [
  {
    name: 'a log that begins behind the checkpoint',
    damage: (level: ClassicLevel) => level.put('mfirst', layout.addChecksum('mfirst', '35')),
    says: /log entry 31 is missing/,
  },
  {
    name: 'a missing checkpoint mark',
    damage: (level: ClassicLevel) => level.del(layout.METADATA_KEYS.checkpoint),
    says: /the record checkpoint is missing/,
  },
  {
    name: 'an unreadable checkpoint mark',
    damage: (level: ClassicLevel) => level.put(layout.METADATA_KEYS.checkpoint, 'garbage'),
    says: /the record checkpoint is unreadable/,
  },
  {
    name: 'a checkpoint mark of another shape',
    damage: (level: ClassicLevel) =>
      level.put(
        layout.METADATA_KEYS.checkpoint,
        layout.addChecksum(layout.METADATA_KEYS.checkpoint, '{"upTo":"x"}'),
      ),
    says: /the record checkpoint is unreadable/,
  },
  {
    name: 'a checkpoint mark that moved back',
    damage: (level: ClassicLevel) =>
      level.put(
        layout.METADATA_KEYS.checkpoint,
        layout.addChecksum(layout.METADATA_KEYS.checkpoint, '{"upTo":12,"tableIndexes":{}}'),
      ),
    says: /the checkpoint is at 12, but had come to 30/,
  },
]
for (const c of logicalDamage) {
  test(`opening refuses ${c.name}, and removes and repairs nothing`, async (t) => {
    const directory = await fillDataDirectory(await temporaryDirectory(t))
    await onDatabase(directory, c.damage)
    const before = await onDatabase(directory, (level) => level.iterator().all())
    await assert.rejects(openEmbeddedEngine(directory), {
      kind: 'storage-corrupt',
      message: c.says,
    })
    assert.deepEqual(await onDatabase(directory, (level) => level.iterator().all()), before)
  })
}

test('damage: changed rows and blobs are rejected on read', async (t) => {
  await assertReadRefused(t, {})
})

test('damage: the loader thread rejects a changed row', async (t) => {
  await assertReadRefused(t, { rowThreadBytes: 0 })
})

async function assertReadRefused(t: TestContext, options: EmbeddedEngineOptions): Promise<void> {
  const directory = await fillDataDirectory(await temporaryDirectory(t))
  await onDatabase(directory, async (level) => {
    await level.put(layout.rowKey('jobs', 'job-7'), layout.addChecksum('another key', 'text'))
    await level.put(layout.blobKey('blob-3'), 'xx')
  })
  const engine = await openEmbeddedEngine(directory, options)
  const corrupt = (says: RegExp): object => ({ kind: 'storage-corrupt', message: says })
  await assert.rejects(contentOf(engine.load()), corrupt(/the row under key "rjobs\\u0000job-7"/))
  await assert.rejects(engine.readBlob('blob-3'), corrupt(/the blob under key "bblob-3"/))
  await engine.close()
}

test('damage to log entries before the checkpoint is refused when they are read', async (t) => {
  const directory = await fillDataDirectory(await temporaryDirectory(t))
  await changeByte(await logFile(directory, 1), 3_000)
  const engine = await openEmbeddedEngine(directory)
  assert.equal(engine.initialPosition.lastIndex, 40)
  await assert.rejects(contentOf(engine.read(1)), {
    kind: 'storage-corrupt',
    message: /is damaged: the file \d+\.log at byte \d+: a checksum does not match\./,
  })
  assert.equal((await contentOf(engine.read(31))).length, 10)
  await engine.close()
})

// The checkpoint holds all entries up to 30, so the server goes on without them.
const backlogDamage = [
  {
    name: 'a changed byte in the file that also has the entries behind the checkpoint',
    damage: async (dir: string) => await changeByte(await logFile(dir, -1), 100),
    says: /the file \d+\.log at byte 40: a checksum does not match/,
  },
  {
    name: 'a file missing in the middle',
    damage: async (dir: string) => await fs.rm(await logFile(dir, 1)),
    says: /the file \d+\.log is missing/,
  },
  {
    name: 'a file that is cut short',
    damage: async (dir: string) => await fs.truncate(await logFile(dir, 0), 1_000),
    says: /the file \d+\.log has 1000 bytes, \d+ were written/,
  },
  {
    name: 'a file without its head',
    damage: async (dir: string) => await changeByte(await logFile(dir, 1), 3),
    says: /the file \d+\.log at byte 0: it does not begin as a file of the log/,
  },
]
for (const c of backlogDamage)
  test(`a log up to the checkpoint with ${c.name} costs the backlog alone`, async (t) => {
    const directory = await fillDataDirectory(await temporaryDirectory(t))
    const wanted = await everythingIn(directory)
    await c.damage(directory)
    const { warnings, log } = collectWarnings()
    const found = await everythingIn(directory, { storageLog: log })
    assert.deepEqual(neededOf(found), neededOf(wanted))
    assert.ok(found.opened.firstIndex > 11 && found.opened.firstIndex <= 31)
    assert.equal(found.entries[0]?.index, found.opened.firstIndex)
    assert.match(warnings.join(), c.says)
    // The next start finds nothing new to report, and the log goes on.
    const engine = await openEmbeddedEngine(directory)
    await engine.append([aLogEntry(41)])
    await engine.close()
    assert.equal((await everythingIn(directory)).opened.lastIndex, 41)
  })

test('damage: a power cut at any byte of the log leaves only complete appends', async (t) => {
  const directory = await temporaryDirectory(t)
  const engine = await openEmbeddedEngine(directory)
  const appends = [[1], [2, 3, 4], [5, 6], [7]]
  for (const indexes of appends) await engine.append(indexes.map(aLogEntry))
  const ends = [0, ...appends.map((indexes) => indexes.at(-1))]
  const { size } = await fs.stat(await logFile(directory, -1))
  const seen = new Set<number>()
  const cuts = [...range(40, size, 97), size]
  for (const length of cuts) {
    // A copy of the files of a running storage is what a power cut leaves: all of it is synced.
    const copy = await temporaryDirectory(t)
    await fs.cp(directory, copy, { recursive: true })
    await tear(await logFile(copy, -1), length)
    const again = await openEmbeddedEngine(copy)
    const { lastIndex } = again.initialPosition
    seen.add(lastIndex)
    assert.ok(ends.includes(lastIndex), `cut at ${length}`)
    assert.equal((await contentOf(again.read(1))).length, lastIndex)
    await again.append([aLogEntry(lastIndex + 1)])
    await again.close()
    const third = await openEmbeddedEngine(copy)
    assert.equal((await contentOf(third.read(1))).length, lastIndex + 1)
    await third.close()
    await fs.rm(copy, { recursive: true })
  }
  assert.deepEqual(seen, new Set([0, 1, 4, 6, 7]))
  await engine.close()
})

/** What stands behind the cut was never written; half of it, the file system fills with zeros. */
async function tear(file: string, length: number): Promise<void> {
  const { size } = await fs.stat(file)
  await fs.truncate(file, length)
  if (length % 2 === 0 && length < size) await fs.truncate(file, size)
}

function* range(from: number, to: number, step: number): Generator<number> {
  for (let at = from; at < to; at += step) yield at
}

test('damage: a segment without header after a power cut is recreated', async (t) => {
  const directory = await fillDataDirectory(await temporaryDirectory(t))
  const wanted = await everythingIn(directory)
  await fs.writeFile(join(directory, 'log', '0000000000000041.log'), Buffer.alloc(40))
  assert.deepEqual(await everythingIn(directory), wanted)
  await fs.writeFile(join(directory, 'log', '0000000000000041.log'), '')
  const engine = await openEmbeddedEngine(directory, { segmentBytesMax: 1 })
  await engine.append([aLogEntry(41)])
  assert.equal((await contentOf(engine.read(1))).length, 31)
  await engine.close()
})

test('damage: blobs missing after a crash are restored from the log', async (t) => {
  const directory = await fillDataDirectory(await temporaryDirectory(t))
  const wanted = await everythingIn(directory)
  await onDatabase(directory, async (level) => {
    await level.del(layout.blobKey('blob-15'))
    await level.put(layout.blobKey('blob-20'), 'half')
  })
  assert.deepEqual(await everythingIn(directory), wanted)
})
