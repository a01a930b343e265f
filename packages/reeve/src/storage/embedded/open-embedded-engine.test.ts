import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { ClassicLevel } from 'classic-level'
import type { StorageEngine } from '../../state/index.ts'
import {
  aLogEntry,
  assertRefused,
  contentOf,
  everythingIn,
  fillDataDirectory,
  levelFile,
  onDatabase,
  writeFormat,
} from '../../../test/build/data-directory.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import * as layout from './row-format.ts'
import { openEmbeddedEngine } from './open-embedded-engine.ts'

test('a directory is refused while another process uses it, and no longer', async (t) => {
  const directory = await fillDataDirectory(await temporaryDirectory(t))
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

test('a directory that this process uses is refused to it and to others', async (t) => {
  const directory = await fillDataDirectory(await temporaryDirectory(t))
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
  const directory = await temporaryDirectory(t)
  const outcomes = await Promise.allSettled([
    openEmbeddedEngine(directory),
    openEmbeddedEngine(directory),
  ])
  assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  for (const outcome of outcomes) if (outcome.status === 'fulfilled') await outcome.value.close()
})

for (const interruption of ['never', 'while it was moved', 'before the old one was removed']) {
  test(`a log in the database moves to files; interrupted ${interruption}`, async (t) => {
    const directory = await fillDataDirectory(await temporaryDirectory(t))
    const wanted = await everythingIn(directory)
    const log = join(directory, 'log')
    await putLogIntoDatabase(directory)
    if (interruption !== 'before the old one was removed') {
      await writeFormat(directory, 2)
      for (const name of await fs.readdir(log)) await fs.truncate(join(log, name), 50)
    }
    if (interruption === 'never') await fs.rm(log, { recursive: true })
    assert.deepEqual(await everythingIn(directory), wanted)
    assert.match(await fs.readFile(join(directory, 'FORMAT'), 'utf8'), /"format":3/)
    const keys = await onDatabase(directory, (level) => level.keys({ gte: 'l', lt: 'm' }).all())
    assert.deepEqual(keys, [])
    assert.deepEqual(await everythingIn(directory), wanted)
  })
}

const oldDamages = [
  {
    name: 'a gap',
    damage: (level: ClassicLevel) => level.del(layout.logKey(35)),
    says: /log entry 35 is missing/,
  },
  {
    name: 'no beginning',
    damage: (level: ClassicLevel) => level.del(layout.logKey(11)),
    says: /log entry 11 is missing/,
  },
  {
    name: 'a changed entry',
    damage: (level: ClassicLevel) => level.put(layout.logKey(20), '00000000'),
    says: /a log entry: its checksum does not match/,
  },
]
for (const { name, damage, says } of oldDamages) {
  test(`a log in the database with ${name} is refused, and stays there`, async (t) => {
    const directory = await fillDataDirectory(await temporaryDirectory(t))
    await putLogIntoDatabase(directory)
    await writeFormat(directory, 2)
    await onDatabase(directory, damage)
    const read = () => onDatabase(directory, (level) => level.iterator().all())
    const before = await read()
    await assert.rejects(openEmbeddedEngine(directory), { kind: 'storage-corrupt', message: says })
    assert.deepEqual(await read(), before)
    assert.match(await fs.readFile(join(directory, 'FORMAT'), 'utf8'), /"format":2/)
  })
}

/** As formats 1 and 2 had it. */
async function putLogIntoDatabase(directory: string): Promise<void> {
  const engine = await openEmbeddedEngine(directory)
  const entries = await contentOf(engine.read(1))
  await engine.close()
  await onDatabase(directory, async (level) => {
    for (const { index, timeMs, text } of entries) {
      const key = layout.logKey(index)
      const sealed = layout.addChecksum(`${key}${timeMs}:`, text)
      await level.put(key, `${sealed.slice(0, 8)}${timeMs}:${text}`)
    }
  })
}

test('a directory with files of something else is refused and stays as it is', async (t) => {
  const directory = await temporaryDirectory(t)
  await fs.writeFile(join(directory, 'letter.txt'), 'dear')
  await assertRefused(directory, 'storage-foreign', /not Reeve's: letter\.txt\. .*empty or new/)
  await fs.rm(join(directory, 'letter.txt'))
  await fs.writeFile(join(directory, 'FORMAT'), '{"format":1}')
  await assertRefused(directory, 'storage-foreign', /was not written by Reeve/)
})

test('a file in the place of the directory, or above it, is refused', async (t) => {
  const file = join(await temporaryDirectory(t), 'file')
  await fs.writeFile(file, 'text')
  await assert.rejects(openEmbeddedEngine(file), {
    kind: 'storage-foreign',
    message: /is not a directory/,
  })
  await assert.rejects(openEmbeddedEngine(join(file, 'data')), { kind: 'storage-foreign' })
  assert.equal(await fs.readFile(file, 'utf8'), 'text')
})

test('a directory is created with its parents and private permissions', async (t) => {
  const directory = join(await temporaryDirectory(t), 'a', 'b')
  await (await openEmbeddedEngine(directory)).close()
  assert.equal((await fs.stat(directory)).mode & 0o777, 0o700)
})

test('the root of a mounted file system counts as empty', async (t) => {
  const directory = await temporaryDirectory(t)
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
    const directory = await temporaryDirectory(t)
    await fs.mkdir(join(directory, 'level'))
    for (const name of c.leave) await fs.writeFile(join(directory, name), 'MANIFEST-000009\n')
    if (c.state === undefined) await fs.rmdir(join(directory, 'level'))
    else await writeFormat(directory, 3, c.state)
    const engine = await openEmbeddedEngine(directory)
    await engine.append([aLogEntry(1)])
    await engine.close()
    const again = await openEmbeddedEngine(directory)
    assert.equal(again.initialPosition.lastIndex, 1)
    await again.close()
  })
}

test('data is kept when only the last step of creation was interrupted', async (t) => {
  const directory = await fillDataDirectory(await temporaryDirectory(t))
  const wanted = await everythingIn(directory)
  await writeFormat(directory, 3, 'unfinished')
  assert.deepEqual(await everythingIn(directory), wanted)
  await fs.rm(await levelFile(directory, 'MANIFEST-'))
  await assertRefused(directory, 'storage-corrupt', /MANIFEST-\d+ is missing/)
})

test('a directory that may not be written to is refused and stays as it is', async (t) => {
  const disk = await aSmallDisk(t, '8m')
  const directory = await fillDataDirectory(join(disk ?? (await temporaryDirectory(t)), 'data'))
  const makeWritable = await makeReadOnly(directory, disk)
  if (makeWritable === undefined) {
    t.skip('root may write anywhere, and no file system can be mounted here')
    return
  }
  try {
    // A disk that was remounted, or a folder without the right to write.
    const kind = disk === undefined ? 'storage-unwritable' : 'storage-read-only'
    await assertRefused(directory, kind, /right to write there|repair and remount it/)
    await assert.rejects(openEmbeddedEngine(join(directory, 'new')), { kind })
  } finally {
    await makeWritable()
  }
})

for (const place of ['/sys/kernel/reeve', '/proc/reeve', '/proc/reeve/data']) {
  const skip = existsSync(place.replace(/\/reeve.*/, '')) ? false : 'there is no such place here'
  test(`${place}, where nothing can be made, is refused`, { skip }, async () => {
    await assert.rejects(openEmbeddedEngine(place), { kind: 'storage-unwritable' })
  })
}

test('a full disk fails the append and loses nothing that was acknowledged', async (t) => {
  const disk = await aSmallDisk(t, '6m')
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
  await assert.rejects(engine.append([aLogEntry(acknowledged + 1)]), { kind: 'storage-full' })
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
  const { lastIndex } = engine.initialPosition
  assert.ok(lastIndex === acknowledged || lastIndex === acknowledged + 1)
  await engine.append([aLogEntry(lastIndex + 1)])
  await engine.close()
})

test('a disk filled by retired files can be opened', async (t) => {
  const disk = await aSmallDisk(t, '6m')
  if (disk === undefined) {
    t.skip('mounting a small file system needs root')
    return
  }
  const directory = join(disk, 'data')
  await (await openEmbeddedEngine(directory)).close()
  await fs.mkdir(join(directory, 'removed'))
  const { bavail, bsize } = await fs.statfs(disk)
  await fs.writeFile(join(directory, 'removed', '000004.ldb'), Buffer.alloc(bavail * bsize, 1))
  assert.equal((await fs.statfs(disk)).bavail, 0)
  const engine = await openEmbeddedEngine(directory)
  await engine.append([aLogEntry(1)])
  await engine.close()
})

/** Resolves when the other process has opened the directory; rejects with what it says. */
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

/** A file system of its own, or undefined where none can be mounted. */
async function aSmallDisk(t: TestContext, size: string): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const place = await fs.mkdtemp(join(tmpdir(), 'reeve-disk-'))
  const mounted = run('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', place])
  t.after(async () => {
    if (mounted) run('umount', ['--lazy', place])
    await fs.rmdir(place)
  })
  return mounted ? place : undefined
}

/** Root needs a file system that refuses, others need no more than a right less. */
async function makeReadOnly(
  directory: string,
  disk: string | undefined,
): Promise<(() => Promise<unknown>) | undefined> {
  if (disk !== undefined && run('mount', ['-o', 'remount,ro', disk])) {
    return async () => run('mount', ['-o', 'remount,rw', disk])
  }
  if (process.getuid?.() === 0) return undefined
  await fs.chmod(directory, 0o500)
  return async () => await fs.chmod(directory, 0o700)
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
      await engine.append([{ ...aLogEntry(index), blobs: [{ key: `blob-${index}`, bytes }] }])
    } catch (thrown) {
      assert.equal(Object(thrown).kind, 'storage-full')
      return index - 1
    }
  }
}
