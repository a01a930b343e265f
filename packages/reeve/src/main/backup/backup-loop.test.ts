import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { register } from '../../../test/api/cluster.ts'
import { createTestServer } from '../../../test/api/harness.ts'
import { anAgentConfig } from '../../../test/build/agent-config.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { until } from '../../../test/build/until.ts'
import { snapshotChunks } from '../../http/index.ts'
import { BackupLoop } from './backup-loop.ts'
import { backupName, backupTimeMs, openTarget } from './backup-target.ts'
import { verifyBackup } from './verify-backup.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

interface Given {
  readonly keep?: number
  readonly snapshot?: () => AsyncIterable<Uint8Array>
}

async function aLoop(t: TestContext, { keep = 2, snapshot }: Given = {}) {
  const directory = join(await temporaryDirectory(t), 'backups')
  const server = await createTestServer({ aclEnabled: false })
  await server.ok('registerJob', register({ ID: 'web' }))
  const clock = new SimulatedClock()
  const { backup } = anAgentConfig({
    flags: { dev: true },
    environment: { REEVE_BACKUP_INTERVAL: '1h', REEVE_BACKUP_DIRECTORY: directory },
  })
  const target = openTarget(backup, directory)
  assert.ok(target !== undefined)
  const lines: string[] = []
  const note = (fields: object, message: string): void =>
    void lines.push(`${message} ${JSON.stringify(fields)}`)
  const loop = new BackupLoop({
    target,
    intervalMs: HOUR_MS,
    keepCount: keep,
    clock,
    log: { info: note, error: note },
    snapshot: snapshot ?? (() => snapshotChunks(server.context)),
    verify: verifyBackup,
  })
  t.after(() => loop.stop())
  const backups = () => target.list()
  return { loop, directory, clock, server, backups, lines, target }
}

/** Waits for the loop to have listed what is there and to wait for its timer. */
async function advance(clock: SimulatedClock, ms: number, done: () => Promise<boolean>) {
  await until('the backup', async () => {
    clock.advance(ms)
    return (await done()) ? true : undefined
  })
}

test('backup: a snapshot is saved, verified and named by its time and index', async (t) => {
  const { loop, clock, backups, directory, lines, server } = await aLoop(t)
  loop.start()
  await advance(clock, MINUTE_MS, async () => (await backups()).length === 1)
  const [name = ''] = await backups()
  assert.match(name, new RegExp(`^reeve-\\d{8}T\\d{6}Z-${server.context.store.index}\\.snapshot$`))
  await until('the line', () => lines.find((line) => line.startsWith('saved and verified')))
  // The clock may have started another backup.
  await loop.stop()
  const left = (await readdir(directory)).filter((file) => !file.endsWith('.snapshot'))
  assert.deepEqual(left, [], 'no partial file is left')
  assert.equal(loop.stats['error'], '')
  assert.notEqual(loop.stats['last_good'], '')
  assert.ok(loop.ageMs < HOUR_MS)
})

test('backup: only the latest are kept', async (t) => {
  const { loop, clock, backups, directory } = await aLoop(t, { keep: 2 })
  await backups()
  const old = [backupName(1_000, 1), backupName(2_000, 1), backupName(3_000, 1)]
  for (const name of old) await writeFile(join(directory, name), '')
  await writeFile(join(directory, 'mine.txt'), 'not a backup')
  loop.start()
  await advance(clock, HOUR_MS, async () =>
    (await backups()).every((name) => !old.slice(0, 2).includes(name)),
  )
  const names = await backups()
  assert.equal(names.length, 2)
  assert.equal(await readFile(join(directory, 'mine.txt'), 'utf8'), 'not a backup')
})

test('backup: one that cannot be restored is not kept, and the last good one stays', async (t) => {
  async function* damaged(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('{"Snapshot":"reeve","Version":1,"Time":"x"}\n')
  }
  const { loop, clock, backups, directory, lines } = await aLoop(t, { keep: 1, snapshot: damaged })
  await backups()
  const good = backupName(1_000, 1)
  await writeFile(join(directory, good), '')
  loop.start()
  await advance(clock, HOUR_MS, async () => lines.length > 0)
  await loop.stop()
  assert.match(lines[0] ?? '', /backup failed.*its end is missing/)
  assert.deepEqual(await readdir(directory), [good])
  assert.match(loop.stats['error'] ?? '', /could not be restored into memory/)
})

test('backup: after a restart the next one comes when the interval is over', async (t) => {
  const { loop, clock, backups, directory } = await aLoop(t)
  await backups()
  const nowMs = clock.nowMs()
  await writeFile(join(directory, backupName(nowMs - HOUR_MS / 2, 1)), '')
  loop.start()
  await until('the age of the last one', () => (loop.stats['last_good'] === '' ? undefined : true))
  clock.advance(HOUR_MS / 2 - 5_000)
  assert.equal((await backups()).length, 1)
  await advance(clock, 5_000, async () => (await backups()).length === 2)
})

test('backup: the time of a name is the time it was made of', () => {
  const timeMs = Date.UTC(2026, 10, 18, 10, 15, 30)
  assert.equal(backupName(timeMs, 4711), 'reeve-20261118T101530Z-4711.snapshot')
  assert.equal(backupTimeMs(backupName(timeMs, 4711)), timeMs)
})

test('backups: one from a clock that was ahead does not push out those that follow', async (t) => {
  const { loop, clock, backups, directory } = await aLoop(t, { keep: 1 })
  await backups()
  const ahead = backupName(clock.nowMs() + 1_000 * HOUR_MS, 1)
  await writeFile(join(directory, ahead), '')
  loop.start()
  await advance(clock, HOUR_MS, async () => !(await backups()).includes(ahead))
  assert.equal((await backups()).length, 1)
})
