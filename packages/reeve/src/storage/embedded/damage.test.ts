import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { ClassicLevel } from 'classic-level'
import fc from 'fast-check'
import {
  aLogEntry,
  assertRefused,
  changeByte,
  contentOf,
  everythingIn,
  filesUnder,
  fillDataDirectory,
  fingerprint,
  levelFile,
  writeFormat,
} from '../../../test/build/data-directory.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import * as layout from './layout.ts'
import { readManifest } from './leveldb/manifest.ts'
import { openEmbeddedEngine } from './open-embedded-engine.ts'

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
    damage: async (dir) => await writeFormat(dir, 3),
    kind: 'storage-version',
    says: /has format 3, this program reads formats 1 to 2\. A newer Reeve wrote it/,
  },
  {
    name: 'an older format',
    damage: async (dir) => await writeFormat(dir, 0),
    kind: 'storage-version',
    says: /has format 0, this program reads formats 1 to 2\. An older Reeve wrote it/,
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
    name: 'a gap in the log',
    damage: (level: ClassicLevel) => level.del(layout.logKey(35)),
    says: /log entry 35 is missing/,
  },
  {
    name: 'a log whose beginning is missing',
    damage: (level: ClassicLevel) => level.del(layout.logKey(11)),
    says: /log entry 11 is missing/,
  },
  {
    name: 'a missing checkpoint mark',
    damage: (level: ClassicLevel) => level.del(layout.metaKeys.checkpoint),
    says: /the record checkpoint is missing/,
  },
  {
    name: 'an unreadable checkpoint mark',
    damage: (level: ClassicLevel) => level.put(layout.metaKeys.checkpoint, 'garbage'),
    says: /the record checkpoint is unreadable/,
  },
  {
    name: 'a checkpoint mark of another shape',
    damage: (level: ClassicLevel) =>
      level.put(
        layout.metaKeys.checkpoint,
        layout.seal(layout.metaKeys.checkpoint, '{"upTo":"x"}'),
      ),
    says: /the record checkpoint is unreadable/,
  },
  {
    name: 'a checkpoint mark that moved back',
    damage: (level: ClassicLevel) =>
      level.put(
        layout.metaKeys.checkpoint,
        layout.seal(layout.metaKeys.checkpoint, '{"upTo":12,"tableIndexes":{}}'),
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

test('a row, an entry and a blob that were changed are refused when they are read', async (t) => {
  const directory = await fillDataDirectory(await temporaryDirectory(t))
  await onDatabase(directory, async (level) => {
    await level.put(layout.rowKey('jobs', 'job-7'), layout.seal('another key', 'text'))
    const logKey = layout.logKey(20)
    await level.put(logKey, (await level.get(logKey))?.replace('commit', 'Commit') ?? '')
    await level.put(layout.blobKey('blob-3'), 'xx')
  })
  const engine = await openEmbeddedEngine(directory)
  const corrupt = (says: RegExp): object => ({ kind: 'storage-corrupt', message: says })
  await assert.rejects(contentOf(engine.load()), corrupt(/the row under key "rjobs\\u0000job-7"/))
  await assert.rejects(contentOf(engine.read(1)), corrupt(/the log entry under key "l0+20"/))
  await assert.rejects(engine.readBlob('blob-3'), corrupt(/the blob under key "bblob-3"/))
  assert.equal((await contentOf(engine.read(21))).length, 20)
  await engine.close()
})

test('damage to log entries before the checkpoint is refused when they are read', async (t) => {
  const directory = await temporaryDirectory(t)
  let engine = await openEmbeddedEngine(directory, { writeBufferBytes: 64 * 1024 })
  for (let index = 1; index <= 200; index++) await engine.append([aLogEntry(index)])
  await engine.checkpoint([], { upTo: 200, tableIndexes: {} })
  await engine.close()
  const manifest = readManifest(await fs.readFile(await levelFile(directory, 'MANIFEST-')))
  const history = [...manifest.tables.values()].find(({ firstKey }) => firstKey > layout.logKey(1))
  assert.ok(history !== undefined && history.lastKey <= layout.logKey(200))
  await changeByte(await levelFile(directory, `${history.number}.ldb`), 3_000)
  engine = await openEmbeddedEngine(directory)
  assert.equal(engine.opened.lastIndex, 200)
  await assert.rejects(contentOf(engine.read(1)), { kind: 'storage-corrupt' })
  await engine.close()
})

test('no single damage to any file goes unnoticed', async (t) => {
  const directory = await fillDataDirectory(await temporaryDirectory(t))
  const wanted = await everythingIn(directory)
  const files = (await filesUnder(directory)).filter((file) => !isRunningText(file))
  const damages = fc.record({
    file: fc.constantFrom(...files),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    how: fc.constantFrom('flip', 'truncate', 'zero'),
  })
  let refused = 0
  await fc.assert(
    fc.asyncProperty(damages, async ({ file, at, how }) => {
      const copy = await temporaryDirectory(t)
      try {
        await fs.cp(directory, copy, { recursive: true })
        await damageFile(join(copy, file), at, how)
        const before = await fingerprint(copy)
        try {
          assert.deepEqual(await everythingIn(copy), wanted)
        } catch (thrown) {
          refused++
          assert.match(String(thrown), /^Fault: /)
          assert.deepEqual(await fingerprint(copy), before)
        }
      } finally {
        await fs.rm(copy, { recursive: true })
      }
    }),
    { numRuns: 150, seed: 7, endOnFailure: true },
  )
  assert.ok(refused > 100)
})

test('a power cut at any byte of the write-ahead log leaves whole appends only', async (t) => {
  const directory = await temporaryDirectory(t)
  const engine = await openEmbeddedEngine(directory)
  const appends = [[1], [2, 3, 4], [5, 6], [7]]
  for (const indexes of appends) await engine.append(indexes.map(aLogEntry))
  const ends = [0, ...appends.map((indexes) => indexes.at(-1))]
  const wal = await levelFile(directory, '.log')
  const { size } = await fs.stat(wal)
  const seen = new Set<number>()
  for (let length = 0; length <= size; length += 97) {
    // A copy of the files of a running storage is what a power cut leaves: all of it is synced.
    const copy = await temporaryDirectory(t)
    try {
      await fs.cp(directory, copy, { recursive: true })
      await fs.truncate(await levelFile(copy, '.log'), length)
      const again = await openEmbeddedEngine(copy)
      seen.add(again.opened.lastIndex)
      assert.ok(ends.includes(again.opened.lastIndex), `cut at ${length}`)
      assert.equal((await contentOf(again.read(1))).length, again.opened.lastIndex)
      await again.close()
    } catch (thrown) {
      // The very first write says that this is a storage; without it there is none.
      assert.match(String(thrown), /the record format is missing/)
      assert.ok(length < 200)
    } finally {
      await fs.rm(copy, { recursive: true })
    }
  }
  assert.deepEqual(seen, new Set([0, 1, 4, 6]))
  await engine.close()
})

/** The database's running commentary and its empty lock file hold no data. */
function isRunningText(file: string): boolean {
  return /(LOG|LOG\.old|LOCK)$/.test(file)
}

async function damageFile(file: string, where: number, how: string): Promise<void> {
  const { size } = await fs.stat(file)
  const at = Math.floor(where * size)
  if (how === 'truncate') return await fs.truncate(file, at)
  if (how === 'flip') return await changeByte(file, at)
  const bytes = await fs.readFile(file)
  bytes.subarray(at - (at % 512), at - (at % 512) + 512).fill(0)
  await fs.writeFile(file, bytes)
}

async function onDatabase<T>(
  directory: string,
  work: (level: ClassicLevel) => Promise<T>,
): Promise<T> {
  const level = new ClassicLevel(join(directory, 'level'))
  await level.open()
  try {
    return await work(level)
  } finally {
    await level.close()
  }
}
