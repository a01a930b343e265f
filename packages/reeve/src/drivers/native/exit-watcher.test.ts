import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execPath, pid } from 'node:process'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { systemClock } from '../../../test/build/agent.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { readProcess } from '../proc/processes.ts'
import { ExitWatcher } from './exit-watcher.ts'

const alive = { pid, startTime: readProcess(pid)?.startTime ?? 0 }
const dead = { pid, startTime: 1 }

async function open(t: TestContext): Promise<ExitWatcher> {
  const watch = new ExitWatcher(join(await temporaryDirectory(t), 'exits'), systemClock)
  await watch.open()
  await watch.open()
  return watch
}

/** As the shim does: a draft, then its name. */
async function leave(watch: ExitWatcher, id: string, code: number): Promise<void> {
  const record = { v: 1, id, code, signal: 0, oom: false, left: 0, atMs: 5, logDropped: 0 }
  await writeFile(`${watch.pathOf(id)}.tmp`, `${JSON.stringify(record)}\n`)
  await rename(`${watch.pathOf(id)}.tmp`, watch.pathOf(id))
}

test('exits: a new record resolves all its waiters', async (t) => {
  const watch = await open(t)
  const { signal } = new AbortController()
  const waiting = [1, 2].map(() => watch.wait('a', alive, signal))
  const other = watch.wait('b', alive, signal)
  await leave(watch, 'a', 7)
  assert.deepEqual(
    (await Promise.all(waiting)).map((record) => record?.code),
    [7, 7],
  )
  await leave(watch, 'b', 8)
  assert.equal((await other)?.code, 8)
})

test('exits: an existing record resolves immediately', async (t) => {
  const watch = await open(t)
  await leave(watch, 'a', 3)
  assert.equal((await watch.wait('a', dead, new AbortController().signal))?.code, 3)
})

test('exits: a supervisor that ended without a record resolves as lost', async (t) => {
  const watch = await open(t)
  assert.equal(await watch.wait('a', dead, new AbortController().signal), undefined)
})

test('exits: who goes away leaves the others waiting', async (t) => {
  const watch = await open(t)
  const gone = new AbortController()
  const stays = watch.wait('a', alive, new AbortController().signal)
  const never = watch.wait('a', alive, gone.signal).then(() => 'settled')
  gone.abort()
  await leave(watch, 'a', 4)
  assert.equal((await stays)?.code, 4)
  assert.equal(await Promise.race([never, Promise.resolve('waiting')]), 'waiting')
})

test('exits: half a record is none', async (t) => {
  const watch = await open(t)
  await writeFile(watch.pathOf('a'), '{"v":1,"code')
  assert.equal(await watch.wait('a', dead, new AbortController().signal), undefined)
})

test('exits: records of unknown tasks are removed', async (t) => {
  const watch = await open(t)
  await leave(watch, 'wanted', 1)
  await leave(watch, 'left', 2)
  for (const id of ['left-2', 'wanted-2']) await writeFile(`${watch.pathOf(id)}.tmp`, '{')
  await watch.removeExcept(new Set(['wanted', 'wanted-2']))
  assert.deepEqual((await readdir(watch.exitsDir)).toSorted(), ['wanted', 'wanted-2.tmp'])
  await new ExitWatcher(join(watch.exitsDir, 'not-there'), systemClock).removeExcept(new Set())
})

test('exits: an agent that may open no further file takes no task for lost', async (t) => {
  const watch = await open(t)
  await leave(watch, 'gone', 9)
  const child = new URL('../../../test/native/exit-watch-child.ts', import.meta.url).pathname
  const command = ['-c', 'ulimit -n 64; exec "$0" "$@"', execPath, child]
  const about = [watch.exitsDir, String(alive.pid), String(alive.startTime)]
  const { stdout } = await promisify(execFile)('sh', [...command, ...about])
  assert.deepEqual(JSON.parse(stdout), { whileScarce: [], later: ['gone with 9'] })
})
