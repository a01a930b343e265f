import assert from 'node:assert/strict'
import { appendFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { faultyLogDisk, type FaultPoint } from '../../../../test/build/faulty-log-disk.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { aNamespace, write } from '../../../../test/build/store.ts'
import { temporaryDirectory } from '../../../../test/build/temporary-directory.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { Store } from '../../../state/index.ts'
import { openEmbeddedEngine, type EmbeddedEngineOptions } from '../open-embedded-engine.ts'

const COMMITS = 12
/** So small that the commits need several files. */
const FILE_BYTES = 512

async function openStore(directory: string, options: EmbeddedEngineOptions = {}): Promise<Store> {
  const engine = await openEmbeddedEngine(directory, { segmentBytesMax: FILE_BYTES, ...options })
  return await Store.open({ engine, clock: new SimulatedClock() })
}

/** Commits one after the other until one fails. Names of those that were acknowledged. */
async function commitAll(store: Store): Promise<string[]> {
  const acknowledged: string[] = []
  for (let i = 0; i < COMMITS; i++) {
    const name = `n${i}`
    try {
      await write(store, [aNamespace(name, 'x'.repeat(100))]).durable
    } catch (thrown) {
      assert.ok(thrown instanceof Fault)
      assert.equal(thrown.kind, 'storage-failed')
      break
    }
    acknowledged.push(name)
  }
  return acknowledged
}

async function emptyDirectory(t: TestContext): Promise<string> {
  const directory = await temporaryDirectory(t)
  await (await openStore(directory)).close()
  return directory
}

test('log faults: the test reaches every write call of the log', async (t) => {
  const disk = faultyLogDisk(Number.POSITIVE_INFINITY, 'before')
  const store = await openStore(await emptyDirectory(t), { disk })
  assert.equal((await commitAll(store)).length, COMMITS)
  // A write for each commit, and for each new file its head, a sync of it and one of the folder.
  assert.ok(disk.calls() >= COMMITS + 3 * 3, `${disk.calls()} calls`)
  await store.close()
})

for (const point of ['before', 'half', 'after'] satisfies FaultPoint[])
  test(`log faults: nothing is acknowledged after a write call that failed (${point})`, async (t) => {
    for (let failAt = 0; failAt < COMMITS + 9; failAt++) {
      const directory = await emptyDirectory(t)
      const store = await openStore(directory, { disk: faultyLogDisk(failAt, point) })
      let told: Fault | undefined
      store.onFault((fault) => (told = fault))
      const acknowledged = await commitAll(store)
      assert.ok(acknowledged.length < COMMITS, `call ${failAt} failed unnoticed`)
      // The program ends when it is told of the fault.
      assert.equal(told?.kind, 'storage-failed')
      assert.throws(() => write(store, [aNamespace('late')]), Fault)
      assert.deepEqual([...store.tables.namespaces.keys()], acknowledged.toSorted())
      await store.close()
      const again = await openStore(directory)
      const found = [...again.tables.namespaces.keys()]
      // The commit that failed may be there; its outcome was left open.
      const extra = found.filter((name) => !acknowledged.includes(name))
      assert.deepEqual(
        found.filter((name) => acknowledged.includes(name)),
        acknowledged.toSorted(),
        `call ${failAt}`,
      )
      assert.ok(extra.length <= 1, `call ${failAt} left ${extra.join(', ')}`)
      await again.close()
    }
  })

for (const point of ['before', 'half', 'after'] satisfies FaultPoint[])
  test(`log faults: after a full disk (${point}) the append is rolled back and the log continues`, async (t) => {
    for (let failAt = 0; failAt < COMMITS + 9; failAt += 3) {
      const directory = await emptyDirectory(t)
      const disk = faultyLogDisk(failAt, point, 'ENOSPC')
      const engine = await openEmbeddedEngine(directory, { segmentBytesMax: FILE_BYTES, disk })
      const store = await Store.open({ engine, clock: new SimulatedClock() })
      const acknowledged: string[] = []
      for (let i = 0; i < COMMITS; i++) {
        const name = `n${i}`
        try {
          await write(store, [aNamespace(name, 'x'.repeat(100))]).durable
          acknowledged.push(name)
        } catch (thrown) {
          assert.ok(thrown instanceof Fault)
          assert.equal(thrown.kind, 'storage-full')
          assert.equal(await engine.recover(), 'none', 'the disk is still full')
          disk.heal()
          assert.equal(await engine.recover(), 'all')
          store.resume('all')
        }
      }
      assert.equal(acknowledged.length, COMMITS - 1, `call ${failAt}`)
      const { index } = store
      await store.close()
      const again = await openStore(directory)
      assert.deepEqual([...again.tables.namespaces.keys()], acknowledged.toSorted())
      assert.equal(again.index, index)
      await again.close()
    }
  })

test('log faults: a torn tail is reported with its length and index', async (t) => {
  const directory = await emptyDirectory(t)
  const store = await openStore(directory, { segmentBytesMax: 1024 * 1024 })
  await write(store, [aNamespace('web')]).durable
  await store.close()
  const [file = ''] = await readdir(join(directory, 'log'))
  const path = join(directory, 'log', file)
  const { size } = await stat(path)
  await appendFile(path, Buffer.alloc(17, 0xa5))
  const warnings: string[] = []
  const warn = (fields: object, message: string): void => {
    warnings.push(`${JSON.stringify(fields)} ${message}`)
  }
  const again = await openStore(directory, { storageLog: { warn } })
  assert.equal((await stat(path)).size, size)
  assert.equal(warnings.length, 1)
  assert.match(warnings[0] ?? '', /"bytes":17,"index":1.*cut 17 bytes behind index 1 /)
  await again.close()
  const quiet = await openStore(directory, { storageLog: { warn } })
  assert.equal(warnings.length, 1, 'a whole log is nothing to report')
  await quiet.close()
})
