import assert from 'node:assert/strict'
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { countingIds } from '../../../test/build/agent.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { diskStorage } from './storage.ts'

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
  await storage.keepRegion('eu')
  await storage.close()
  const again = diskStorage(dir)
  assert.equal((await again.open(countingIds())).region, 'eu')
  await again.close()
})

test('a second agent on the same directory is turned away until the first is gone', async (t) => {
  const dir = await temporaryDirectory(t)
  const first = diskStorage(dir)
  await first.open(countingIds())
  const second = diskStorage(dir)
  await assert.rejects(second.open(countingIds()), { kind: 'agent-locked' })
  await first.close()
  await second.open(countingIds())
  await second.close()
})

test('a directory is locked by its mark too: its number alone may have been given again', async (t) => {
  const dir = await temporaryDirectory(t)
  const gone = diskStorage(dir)
  await gone.open(countingIds())
  // As a new directory with the same number: it has another mark.
  await rm(join(dir, 'agent', 'lock'))
  const fresh = diskStorage(dir)
  await fresh.open(countingIds())
  await fresh.close()
  await gone.close()
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
  await storage.sweepRecords(new Set([join(storage.recordsDir, 'live')]))
  assert.deepEqual(await readdir(storage.recordsDir), ['live'])
  await storage.close()
})

test('a new secret and a region that are kept at the same time are both there afterwards', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const first = diskStorage(dataDir)
  const { nodeId } = await first.open(countingIds())
  await Promise.all([first.keepSecret('new secret'), first.keepRegion('eu')])
  await first.close()
  const again = diskStorage(dataDir)
  const identity = await again.open(countingIds())
  await again.close()
  assert.deepEqual(
    [identity.nodeId, identity.secret, identity.region],
    [nodeId, 'new secret', 'eu'],
  )
})
