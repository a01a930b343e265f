import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ClassicLevel } from 'classic-level'
import fc from 'fast-check'
import type { LogEntry, StorageEngine } from '../../state/index.ts'
import * as layout from './layout.ts'
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
    damage: async (dir) => await writeFormat(dir, 2),
    kind: 'storage-version',
    says: /has format 2, this program reads format 1\. A newer Reeve wrote it/,
  },
  {
    name: 'an older format',
    damage: async (dir) => await writeFormat(dir, 0),
    kind: 'storage-version',
    says: /has format 0, this program reads format 1\. An older Reeve wrote it/,
  },
]
for (const c of refusals) {
  test(`opening refuses ${c.name} and changes nothing`, async (t) => {
    const directory = await aFilledDirectory(t)
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
    const directory = await aFilledDirectory(t)
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
  const directory = await aFilledDirectory(t)
  await onDatabase(directory, async (level) => {
    await level.put(layout.rowKey('jobs', 'job-7'), layout.seal('another key', 'text'))
    const logKey = layout.logKey(20)
    await level.put(logKey, (await level.get(logKey))?.replace('commit', 'Commit') ?? '')
    await level.put(layout.blobKey('blob-3'), 'xx')
  })
  const engine = await openEmbeddedEngine(directory)
  t.after(() => engine.close())
  const corrupt = (says: RegExp): object => ({ kind: 'storage-corrupt', message: says })
  await assert.rejects(contentOf(engine.load()), corrupt(/the row under key "rjobs\\u0000job-7"/))
  await assert.rejects(contentOf(engine.read(1)), corrupt(/the log entry under key "l0+20"/))
  await assert.rejects(engine.readBlob('blob-3'), corrupt(/the blob under key "bblob-3"/))
  assert.equal((await contentOf(engine.read(21))).length, 20)
})

test('no single damage to any file goes unnoticed: opening refuses, or all is as it was', async (t) => {
  const directory = await aFilledDirectory(t)
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
      const copy = await fs.mkdtemp(join(tmpdir(), 'reeve-damaged-'))
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
  const directory = await anEmptyDirectory(t)
  const engine = await openEmbeddedEngine(directory)
  t.after(() => engine.close())
  const appends = [[1], [2, 3, 4], [5, 6], [7]]
  for (const indexes of appends) await engine.append(indexes.map(entry))
  const ends = [0, ...appends.map((indexes) => indexes.at(-1))]
  const wal = await levelFile(directory, '.log')
  const { size } = await fs.stat(wal)
  const seen = new Set<number>()
  for (let length = 0; length <= size; length += 97) {
    // A copy of the files of a running storage is what a power cut leaves: all of it is synced.
    const copy = await fs.mkdtemp(join(tmpdir(), 'reeve-cut-'))
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
})

test('a directory that another process uses is refused, and works when that process is gone', async (t) => {
  const directory = await aFilledDirectory(t)
  const holder = await holdInAnotherProcess(t, directory)
  await assertRefused(
    directory,
    'storage-locked',
    existsSync('/proc/locks')
      ? new RegExp(`in use by process ${holder.pid}\\. Nothing was changed\\. Stop that process`)
      : /in use by another process/,
  )
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  await (await openEmbeddedEngine(directory)).close()
})

test('a directory that this process uses is refused, and stays locked against others', async (t) => {
  const directory = await aFilledDirectory(t)
  const engine = await openEmbeddedEngine(directory)
  const locked = { kind: 'storage-locked', message: /in use by this process already/ }
  await assert.rejects(openEmbeddedEngine(directory), locked)
  await assert.rejects(openEmbeddedEngine(`${directory}/.`), locked)
  if (existsSync('/proc/locks')) {
    const link = `${directory}-link`
    await fs.symlink(directory, link)
    t.after(() => fs.rm(link))
    await assert.rejects(openEmbeddedEngine(link), { kind: 'storage-locked' })
  }
  await assert.rejects(holdInAnotherProcess(t, directory), /storage-locked/)
  await engine.close()
  await (await openEmbeddedEngine(directory)).close()
})

test('of two openings at once, one wins', async (t) => {
  const directory = await anEmptyDirectory(t)
  const outcomes = await Promise.allSettled([
    openEmbeddedEngine(directory),
    openEmbeddedEngine(directory),
  ])
  assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  for (const outcome of outcomes) if (outcome.status === 'fulfilled') await outcome.value.close()
})

test('a directory with files of something else is refused and stays as it is', async (t) => {
  const directory = await anEmptyDirectory(t)
  await fs.writeFile(join(directory, 'letter.txt'), 'dear')
  await assertRefused(directory, 'storage-foreign', /not Reeve's: letter\.txt\. .*empty or new/)
  await fs.rm(join(directory, 'letter.txt'))
  await fs.writeFile(join(directory, 'FORMAT'), '{"format":1}')
  await assertRefused(directory, 'storage-foreign', /was not written by Reeve/)
})

test('a file in the place of the directory, or above it, is refused', async (t) => {
  const file = join(await anEmptyDirectory(t), 'file')
  await fs.writeFile(file, 'text')
  await assert.rejects(openEmbeddedEngine(file), {
    kind: 'storage-foreign',
    message: /is not a directory/,
  })
  await assert.rejects(openEmbeddedEngine(join(file, 'data')), { kind: 'storage-foreign' })
  assert.equal(await fs.readFile(file, 'utf8'), 'text')
})

test('a directory is made with its parents, closed to others', async (t) => {
  const directory = join(await anEmptyDirectory(t), 'a', 'b')
  await (await openEmbeddedEngine(directory)).close()
  assert.equal((await fs.stat(directory)).mode & 0o777, 0o700)
})

test('the root of a mounted file system counts as empty', async (t) => {
  const directory = await anEmptyDirectory(t)
  await fs.mkdir(join(directory, 'lost+found'))
  await (await openEmbeddedEngine(directory)).close()
})

// A crash while a directory is made leaves one of these; nothing was acknowledged in it yet.
const halfMade = [
  { name: 'before anything was written', leave: ['FORMAT.tmp'], state: undefined },
  { name: 'before the database was begun', leave: [], state: 'unfinished' },
  {
    name: 'while the database was made',
    leave: ['level/LOCK', 'level/CURRENT'],
    state: 'unfinished',
  },
]
for (const c of halfMade) {
  test(`a creation that was interrupted ${c.name} is begun again`, async (t) => {
    const directory = await anEmptyDirectory(t)
    await fs.mkdir(join(directory, 'level'))
    for (const name of c.leave) await fs.writeFile(join(directory, name), 'MANIFEST-000009\n')
    if (c.state === undefined) await fs.rmdir(join(directory, 'level'))
    else await writeFormat(directory, 1, c.state)
    const engine = await openEmbeddedEngine(directory)
    await engine.append([entry(1)])
    await engine.close()
    const again = await openEmbeddedEngine(directory)
    assert.equal(again.opened.lastIndex, 1)
    await again.close()
  })
}

test('data is kept when only the last step of creation was interrupted', async (t) => {
  const directory = await aFilledDirectory(t)
  const wanted = await everythingIn(directory)
  await writeFormat(directory, 1, 'unfinished')
  assert.deepEqual(await everythingIn(directory), wanted)
  await fs.rm(await levelFile(directory, 'MANIFEST-'))
  await assertRefused(directory, 'storage-corrupt', /MANIFEST-\d+ is missing/)
})

test('a directory that may not be written to is refused and stays as it is', async (t) => {
  const directory = await aFilledDirectory(t, await aTemporaryFileSystem(t, '8m'))
  if (!(await makeReadOnly(t, directory))) {
    t.skip('neither a file system can be mounted here, nor are rights checked for this account')
    return
  }
  await assertRefused(directory, 'storage-unwritable', /cannot be written to .*right to write/)
  await assert.rejects(openEmbeddedEngine(join(directory, 'new')), { kind: 'storage-unwritable' })
})

test('a place where nothing can be created is refused', async (t) => {
  if (!existsSync('/sys/kernel')) {
    t.skip('there is no /sys here')
    return
  }
  await assert.rejects(openEmbeddedEngine('/sys/kernel/reeve'), { kind: 'storage-unwritable' })
})

test('a full disk fails the append, refuses to open, and loses nothing that was acknowledged', async (t) => {
  const disk = await aTemporaryFileSystem(t, '6m')
  if (disk === undefined) {
    t.skip('mounting a small file system needs root')
    return
  }
  const directory = join(disk, 'data')
  const ballast = join(disk, 'ballast')
  await fs.writeFile(ballast, Buffer.alloc(4 * 1024 * 1024, 1))
  let engine = await openEmbeddedEngine(directory)
  const acknowledged = await appendUntilFull(engine)
  assert.ok(acknowledged > 3)
  await assert.rejects(engine.append([entry(acknowledged + 1)]), { kind: 'storage-full' })
  await assert.rejects(engine.checkpoint([], { upTo: 1, tableIndexes: {} }), {
    kind: 'storage-full',
  })
  assert.equal((await contentOf(engine.read(1))).length, acknowledged)
  await engine.close()
  await assertRefused(directory, 'storage-full', /is full: \d+ bytes are free.*Free space/)
  await assert.rejects(openEmbeddedEngine(join(disk, 'new')), { kind: 'storage-full' })
  assert.ok(!existsSync(join(disk, 'new')))
  await fs.rm(ballast)
  engine = await openEmbeddedEngine(directory)
  t.after(() => engine.close())
  const { lastIndex } = engine.opened
  assert.ok(lastIndex === acknowledged || lastIndex === acknowledged + 1)
  await engine.append([entry(lastIndex + 1)])
})

/** Log entries 11 to 40, a checkpoint at 30 with 200 rows, ten blobs, spread over several files. */
async function aFilledDirectory(t: TestContext, parent?: string): Promise<string> {
  const directory = await anEmptyDirectory(t, parent)
  let engine = await openEmbeddedEngine(directory, { writeBufferBytes: 64 * 1024 })
  for (let index = 1; index <= 30; index++) {
    const blobs = index > 10 ? [] : [{ key: `blob-${index}`, bytes: Buffer.from(noiseText(index)) }]
    await engine.append([{ ...entry(index), blobs }])
  }
  const rows = Array.from({ length: 200 }, (_, at) => ({
    table: 'jobs',
    key: `job-${at}`,
    text: noiseText(at),
  }))
  await engine.checkpoint(rows, { upTo: 30, tableIndexes: { jobs: 30 } })
  await engine.trim(11)
  await engine.close()
  engine = await openEmbeddedEngine(directory)
  for (let index = 31; index <= 40; index++) await engine.append([entry(index)])
  await engine.close()
  return directory
}

async function anEmptyDirectory(t: TestContext, parent = tmpdir()): Promise<string> {
  const directory = await fs.mkdtemp(join(parent, 'reeve-open-'))
  if (parent === tmpdir()) t.after(() => fs.rm(directory, { recursive: true }))
  return directory
}

function entry(index: number): LogEntry {
  return { index, timeMs: index, text: `commit ${index} ${noiseText(index)}`, blobs: [] }
}

function noiseText(seed: number): string {
  const digest = createHash('sha512').update(String(seed)).digest('hex')
  return digest.repeat(8)
}

async function assertRefused(directory: string, kind: string, says: RegExp): Promise<void> {
  const before = await fingerprint(directory)
  await assert.rejects(openEmbeddedEngine(directory), { name: 'Fault', kind, message: says })
  assert.deepEqual(await fingerprint(directory), before, 'nothing was changed')
}

async function fingerprint(directory: string): Promise<Record<string, string>> {
  const prints: Record<string, string> = {}
  for (const file of await filesUnder(directory)) {
    const path = join(directory, file)
    const { size, mtimeMs, mode } = await fs.stat(path)
    // Opening and closing a lock file that this process holds would drop the lock.
    const content = file.endsWith('LOCK') ? '' : await fs.readFile(path)
    const hash = createHash('sha256').update(content).digest('hex')
    prints[file] = `${size} ${mtimeMs} ${mode} ${hash}`
  }
  return prints
}

async function filesUnder(directory: string): Promise<string[]> {
  const found = await fs.readdir(directory, { recursive: true, withFileTypes: true })
  return found
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name).slice(directory.length + 1))
    .toSorted()
}

/** The database's running commentary and its empty lock file hold no data. */
function isRunningText(file: string): boolean {
  return /(LOG|LOG\.old|LOCK)$/.test(file)
}

async function levelFile(directory: string, part: string): Promise<string> {
  const level = join(directory, 'level')
  const name = (await fs.readdir(level)).toSorted().find((one) => one.includes(part))
  assert.ok(name !== undefined)
  return join(level, name)
}

async function changeByte(file: string, at: number): Promise<void> {
  const bytes = await fs.readFile(file)
  bytes[at] = (bytes[at] ?? 0) ^ 0x20
  await fs.writeFile(file, bytes)
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

async function writeFormat(directory: string, format: number, state = 'ready'): Promise<void> {
  const text = JSON.stringify({ reeve: 'embedded storage', format, state })
  await fs.writeFile(join(directory, 'FORMAT'), text)
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

async function everythingIn(directory: string): Promise<unknown> {
  const engine = await openEmbeddedEngine(directory)
  try {
    const keys = Array.from({ length: 10 }, (_, at) => `blob-${at + 1}`)
    return {
      opened: engine.opened,
      entries: await contentOf(engine.read(1)),
      rows: (await contentOf(engine.load())).flat(),
      blobs: await Promise.all(keys.map((key) => engine.readBlob(key))),
    }
  } finally {
    await engine.close()
  }
}

async function contentOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** Resolves when the other process has opened the directory; rejects with what it says otherwise. */
async function holdInAnotherProcess(
  t: TestContext,
  directory: string,
): Promise<ReturnType<typeof spawn>> {
  const module = new URL('open-embedded-engine.ts', import.meta.url).href
  const script = `
    import { openEmbeddedEngine } from ${JSON.stringify(module)}
    const engine = await openEmbeddedEngine(${JSON.stringify(directory)}).catch((fault) => {
      process.stdout.write(fault.kind)
      process.exit(1)
    })
    process.stdout.write('open')
    process.stdin.resume()
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const [said] = await once(child.stdout, 'data')
  if (String(said) !== 'open') throw new Error(String(said))
  return child
}

/** A small file system of its own, or undefined where none can be mounted. */
async function aTemporaryFileSystem(t: TestContext, size: string): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const place = await fs.mkdtemp(join(tmpdir(), 'reeve-disk-'))
  const mounted = run('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', place])
  t.after(async () => {
    if (mounted) run('umount', ['--lazy', place])
    await fs.rmdir(place)
  })
  return mounted ? place : undefined
}

/** By the file system when root may mount one; by the rights of the directory for other accounts. */
async function makeReadOnly(t: TestContext, directory: string): Promise<boolean> {
  if (process.getuid?.() === 0) {
    return run('mount', ['-o', 'remount,ro', join(directory, '..')])
  }
  await fs.chmod(directory, 0o500)
  t.after(() => fs.chmod(directory, 0o700))
  return true
}

function run(command: string, words: readonly string[]): boolean {
  try {
    execFileSync(command, words, { stdio: 'ignore' })
    return true
  } catch {
    return false // not allowed here, or not installed
  }
}

async function appendUntilFull(engine: StorageEngine): Promise<number> {
  for (let index = 1; ; index++) {
    const bytes = Buffer.alloc(50_000, index)
    try {
      await engine.append([{ ...entry(index), blobs: [{ key: `blob-${index}`, bytes }] }])
    } catch (thrown) {
      assert.equal(Object(thrown).kind, 'storage-full')
      return index - 1
    }
  }
}
