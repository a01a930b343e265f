import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { changeByte, fingerprint, levelFile, logFile } from '../../../test/build/data-directory.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { aNamespace, write } from '../../../test/build/store.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { remove, Store } from '../../state/index.ts'
import { checkStorage, salvageStorage } from './repair-storage.ts'
import { openEmbeddedEngine } from './open-embedded-engine.ts'

const ROWS = 300
const SMALL = { writeBufferBytes: 64 * 1024, segmentBytesMax: 8 * 1024 }

async function openStore(directory: string): Promise<Store> {
  const engine = await openEmbeddedEngine(directory, SMALL)
  return await Store.open({ engine, clock: new SimulatedClock() })
}

/** Rows in a checkpoint, then some that only the log holds; one of them was deleted. */
async function aStorage(t: TestContext): Promise<string> {
  const directory = await temporaryDirectory(t)
  let store = await openStore(directory)
  for (let i = 0; i < ROWS; i++)
    await write(store, [aNamespace(`n${i}`, `first ${'x'.repeat(200)}`)]).durable
  await store.close()
  store = await openStore(directory)
  for (let i = 0; i < 10; i++) await write(store, [aNamespace(`n${i}`, 'second')]).durable
  const changes = () => [remove('namespaces', 'n10')]
  await store.commit({ by: 'system', cause: undefined, changes }).durable
  await write(store, [aNamespace('late', 'only in the log')]).durable
  // As a crash leaves it: a copy of a storage that nobody closed.
  const copy = await temporaryDirectory(t)
  await fs.cp(directory, copy, { recursive: true })
  await store.close()
  return copy
}

function rowsIn(store: Store): Map<string, string> {
  return new Map([...store.tables.namespaces.rows()].map((row) => [row.Name, row.Description]))
}

async function salvaged(t: TestContext, directory: string) {
  const to = await temporaryDirectory(t)
  const before = await fingerprint(directory)
  const engine = await openEmbeddedEngine(to)
  const report = await salvageStorage(directory, engine)
  await engine.close()
  assert.deepEqual(await fingerprint(directory), before, 'the damaged directory was changed')
  const store = await openStore(to)
  const rows = rowsIn(store)
  const { index } = store
  await store.close()
  return { report, rows, index }
}

const wanted = new Map<string, string>([
  ...Array.from({ length: ROWS }, (_, i): [string, string] => [
    `n${i}`,
    i < 10 ? 'second' : `first ${'x'.repeat(200)}`,
  ]),
  ['late', 'only in the log'],
])
wanted.delete('n10')
const LAST_INDEX = ROWS + 12

test('salvage: an intact storage is copied completely', async (t) => {
  const directory = await aStorage(t)
  const { problems, lastIndex } = await checkStorage(directory)
  assert.deepEqual([problems, lastIndex], [[], LAST_INDEX])
  const { report, rows, index } = await salvaged(t, directory)
  assert.deepEqual(report.lost, [])
  assert.deepEqual(rows, wanted)
  assert.equal(index, LAST_INDEX)
})

test('salvage: one damaged entry behind the checkpoint costs that entry alone', async (t) => {
  const directory = await aStorage(t)
  const file = await logFile(directory, -1)
  const bytes = await fs.readFile(file)
  await changeByte(file, bytes.indexOf('"n5"') + 1)
  const { problems } = await checkStorage(directory)
  assert.ok(problems.some(({ isFatal }) => isFatal))
  await assert.rejects(openEmbeddedEngine(directory), { kind: 'storage-corrupt' })
  const { report, rows, index } = await salvaged(t, directory)
  assert.match(report.lost.join('; '), /the file \d+\.log at byte \d+.*log entry 306 is missing/)
  assert.deepEqual(rows, new Map([...wanted, ['n5', `first ${'x'.repeat(200)}`]]))
  assert.equal(index, LAST_INDEX)
})

test('salvage: rows of a damaged table come from the kept log, and the file is named', async (t) => {
  const directory = await aStorage(t)
  const table = await levelFile(directory, '.ldb')
  await changeByte(table, 100)
  const { problems } = await checkStorage(directory)
  assert.match(problems.map(({ what }) => what).join(), /the file \d+\.ldb at byte 0/)
  const { report, rows } = await salvaged(t, directory)
  assert.match(report.lost.join('; '), /the file \d+\.ldb at byte 0: a checksum does not match/)
  assert.deepEqual(rows, wanted)
  assert.ok(report.rowsOfLog > 11)
})

test('salvage: a missing manifest, and a missing log, leave the rows of the tables', async (t) => {
  const directory = await aStorage(t)
  await fs.rm(await levelFile(directory, 'MANIFEST'))
  await fs.rm(join(directory, 'log'), { recursive: true })
  const { report, rows, index } = await salvaged(t, directory)
  assert.match(report.lost.join('; '), /the folder log is missing.*MANIFEST-\d+ is missing/)
  // Without the log what it alone held is gone; everything else is there.
  assert.equal(rows.size, ROWS)
  assert.equal(rows.get('n5'), `first ${'x'.repeat(200)}`)
  assert.ok(index >= ROWS)
})

test('salvage: nothing readable is an error, not an empty storage', async (t) => {
  const directory = await aStorage(t)
  for (const name of ['level', 'log']) await fs.rm(join(directory, name), { recursive: true })
  await fs.rm(join(directory, 'REACHED'))
  const engine = await openEmbeddedEngine(await temporaryDirectory(t))
  await assert.rejects(salvageStorage(directory, engine), { kind: 'storage-corrupt' })
  await engine.close()
})

test('check: a torn tail is a note, not damage', async (t) => {
  const directory = await aStorage(t)
  await fs.appendFile(await logFile(directory, -1), Buffer.alloc(9, 1))
  const before = await fingerprint(directory)
  const { problems, notes } = await checkStorage(directory)
  assert.deepEqual(problems, [])
  assert.match(notes.join(), /9 bytes behind index 312/)
  assert.deepEqual(await fingerprint(directory), before)
})

test('check: a directory without a storage is refused', async (t) => {
  const directory = await temporaryDirectory(t)
  await assert.rejects(checkStorage(join(directory, 'none')), { kind: 'storage-foreign' })
})
