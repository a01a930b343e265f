import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { countingIds } from '../../../test/build/agent.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { diskStorage } from './agent-storage.ts'

test('a node keeps its identity and its secret, which only it may read', async (t) => {
  const dir = await temporaryDirectory(t)
  const ids = countingIds()
  const storage = diskStorage(dir)
  const first = await storage.open(ids)
  await storage.close()
  const again = diskStorage(dir)
  const second = await again.open(ids)
  await again.close()
  assert.equal(second.nodeId, first.nodeId)
  assert.equal(second.secret, first.secret)
  assert.notEqual(first.secret, first.nodeId)
  const { mode } = await stat(join(dir, 'agent', 'node.json'))
  assert.equal(mode & 0o777, 0o600)
})

test('a node keeps the region of its servers', async (t) => {
  const dir = await temporaryDirectory(t)
  const storage = diskStorage(dir)
  assert.equal((await storage.open(countingIds())).region, undefined)
  await storage.saveRegion('eu')
  await storage.close()
  const again = diskStorage(dir)
  assert.equal((await again.open(countingIds())).region, 'eu')
  await again.close()
})

test('a second agent on the same directory is refused until the first is gone', async (t) => {
  const dir = await temporaryDirectory(t)
  const first = diskStorage(dir)
  await first.open(countingIds())
  const second = diskStorage(dir)
  await assert.rejects(second.open(countingIds()), {
    kind: 'agent-locked',
    message: `Another agent is using ${join(dir, 'agent')} (pid ${process.pid}). Stop it, or choose another --data-dir.`,
  })
  // A refused agent takes nothing from the one that has the lock.
  await assert.rejects(diskStorage(dir).open(countingIds()), { kind: 'agent-locked' })
  await first.close()
  await second.open(countingIds())
  await second.close()
})

test('a new directory in the place of a removed one is not locked', async (t) => {
  const dir = await temporaryDirectory(t)
  const gone = diskStorage(dir)
  await gone.open(countingIds())
  await rm(join(dir, 'agent'), { recursive: true })
  const fresh = diskStorage(dir)
  await fresh.open(countingIds())
  await fresh.close()
  await gone.close()
})

test('only the user of the agent can take its lock, and no name of it is public', async (t) => {
  const dir = await temporaryDirectory(t)
  const storage = diskStorage(dir)
  await storage.open(countingIds())
  assert.equal((await stat(join(dir, 'agent', 'lock.db'))).mode & 0o777, 0o600)
  assert.deepEqual(await ownAbstractSockets(), [])
  await storage.close()
})

/** Every task that shares the network of the node reads these names, and may bind them. */
async function ownAbstractSockets(): Promise<readonly string[]> {
  const descriptors = await readdir('/proc/self/fd')
  const links = await Promise.all(
    descriptors.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')),
  )
  const own = new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []))
  const table = await readFile('/proc/net/unix', 'utf8')
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/))
  return rows.flatMap(([, , , , , , inode = '', name = '']) => {
    return own.has(inode) && name.startsWith('@') ? [name] : []
  })
}

/** Opens the storage of a directory, starts a program that outlives it, and tells its number. */
const HOLDER = `
import { spawn } from 'node:child_process'
import { diskStorage } from ${JSON.stringify(join(import.meta.dirname, 'agent-storage.ts'))}
const storage = diskStorage(process.argv[1])
await storage.open({ uuid: () => 'id' })
const child = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' })
process.stdout.write(child.pid + '\\n')
setInterval(() => storage, 1000)
`

test('a killed agent leaves no lock, even if a program that it started still runs', async (t) => {
  const dir = await temporaryDirectory(t)
  const holder = spawn(process.execPath, ['--input-type=module', '-e', HOLDER, dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface({ input: holder.stdout }), 'line')
  const task = Number(line)
  t.after(() => process.kill(task, 'SIGKILL'))
  const storage = diskStorage(dir)
  await assert.rejects(storage.open(countingIds()), {
    kind: 'agent-locked',
    message: new RegExp(`\\(pid ${holder.pid}\\)`),
  })
  const ended = once(holder, 'exit')
  holder.kill('SIGKILL')
  await ended
  process.kill(task, 0)
  await storage.open(countingIds())
  await storage.close()
})

test('a lock file that is no database stops the agent and is named', async (t) => {
  const dir = await temporaryDirectory(t)
  await mkdir(join(dir, 'agent'))
  await writeFile(join(dir, 'agent', 'lock.db'), 'x'.repeat(1_000))
  await assert.rejects(diskStorage(dir).open(countingIds()), {
    kind: 'agent-state',
    message: /^cannot lock \S+lock\.db: file is not a database/,
  })
})

test('a damaged identity is an error and is not replaced', async (t) => {
  const dir = await temporaryDirectory(t)
  await mkdir(join(dir, 'agent'))
  await writeFile(join(dir, 'agent', 'node.json'), '{"v":1}')
  const storage = diskStorage(dir)
  await assert.rejects(storage.open(countingIds()), { kind: 'agent-state' })
  // The lock was given back.
  await assert.rejects(diskStorage(dir).open(countingIds()), { kind: 'agent-state' })
})

test('an identity of a newer agent is refused, and not replaced', async (t) => {
  const dir = await temporaryDirectory(t)
  const storage = diskStorage(dir)
  await storage.open(countingIds())
  await storage.close()
  const file = join(dir, 'agent', 'node.json')
  const newer = (await readFile(file, 'utf8')).replace('"v":1', '"v":2')
  await writeFile(file, newer)
  const message = /node\.json has format 2, and this agent reads format 1\. A newer Reeve wrote it/
  await assert.rejects(diskStorage(dir).open(countingIds()), { message })
  assert.equal(await readFile(file, 'utf8'), newer)
})

test('a missing identity is not replaced where allocations of the node are', async (t) => {
  const dir = await temporaryDirectory(t)
  const storage = diskStorage(dir)
  await storage.open(countingIds())
  await storage.close()
  await mkdir(join(dir, 'agent', 'allocations', 'one'))
  await rm(join(dir, 'agent', 'node.json'))
  await assert.rejects(diskStorage(dir).open(countingIds()), {
    kind: 'agent-state',
    message: /node\.json is missing\. Nothing was changed\. Put the file back .* as a new node/,
  })
  assert.deepEqual((await readdir(join(dir, 'agent'))).includes('node.json'), false)
})

test('a directory that is known is locked without writing: its disk may be full', async (t) => {
  const dir = await temporaryDirectory(t)
  const storage = diskStorage(dir)
  await storage.open(countingIds())
  await storage.close()
  const { mtimeMs } = await stat(join(dir, 'agent'))
  const again = diskStorage(dir)
  await again.open(countingIds())
  await again.close()
  assert.equal((await stat(join(dir, 'agent'))).mtimeMs, mtimeMs)
})

test('records of starts that are over are swept, the others stay', async (t) => {
  const dir = await temporaryDirectory(t)
  const storage = diskStorage(dir)
  await storage.open(countingIds())
  for (const name of ['old', 'live']) await mkdir(join(storage.recordsDir, name))
  await storage.removeStaleRecords(new Set([join(storage.recordsDir, 'live')]))
  assert.deepEqual(await readdir(storage.recordsDir), ['live'])
  await storage.close()
})

test('a new secret and a region that are kept at the same time are both there afterwards', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const first = diskStorage(dataDir)
  const { nodeId } = await first.open(countingIds())
  await Promise.all([first.saveSecret('new secret'), first.saveRegion('eu')])
  await first.close()
  const again = diskStorage(dataDir)
  const identity = await again.open(countingIds())
  await again.close()
  assert.deepEqual(
    [identity.nodeId, identity.secret, identity.region],
    [nodeId, 'new secret', 'eu'],
  )
})
