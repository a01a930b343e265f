import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogEntry } from '../../state/index.ts'
import { storageEngineSuite } from '../../../test/suites/storage-engine.ts'
import { MemoryDisk, type MemoryEngine, openMemoryEngine } from './memory-engine.ts'

storageEngineSuite('memory', () => {
  const disk = new MemoryDisk()
  return { open: async () => openMemoryEngine({ disk }) }
})

test('a blocked append is durable only when it is released', async () => {
  const engine = openMemoryEngine()
  const held = engine.faultInjector.blockNext()
  let settled = false
  const appending = engine.append([entry(1)]).then(() => (settled = true))
  await held.started
  assert.equal(settled, false)
  assert.equal(engine.disk.lastIndex, 0)
  held.release()
  await appending
  assert.equal(engine.disk.lastIndex, 1)
  await engine.append([entry(2)])
})

test('a blocked append is lost if the machine stops before its release', async () => {
  const engine = openMemoryEngine()
  const held = engine.faultInjector.blockNext()
  const appending = engine.append([entry(1)])
  await held.started
  const next = openMemoryEngine({ disk: engine.disk })
  held.release()
  await assert.rejects(appending, { kind: 'storage-fenced' })
  assert.equal(next.initialPosition.lastIndex, 0)
  assert.equal(openMemoryEngine({ disk: engine.disk }).initialPosition.lastIndex, 0)
})

const failures = [
  {
    name: 'torn, and all of it survives',
    strike: (e: MemoryEngine) => e.faultInjector.failNext('all'),
    kind: 'storage-failed',
    lastIndex: 3,
  },
  {
    name: 'torn, and none of it survives',
    strike: (e: MemoryEngine) => e.faultInjector.failNext('none'),
    kind: 'storage-failed',
    lastIndex: 1,
  },
  {
    name: 'refused by a full disk',
    strike: (e: MemoryEngine) => e.faultInjector.fillDisk(),
    kind: 'storage-full',
    lastIndex: 1,
  },
  {
    name: 'fenced off',
    strike: (e: MemoryEngine) => e.faultInjector.fenceNext(),
    kind: 'storage-fenced',
    lastIndex: 1,
  },
]
for (const c of failures) {
  test(`an append that is ${c.name} rejects, as do later ones until a restart`, async () => {
    const engine = openMemoryEngine()
    await engine.append([entry(1)])
    c.strike(engine)
    await assert.rejects(engine.append([entry(2), entry(3)]), { name: 'Fault', kind: c.kind })
    await assert.rejects(engine.append([entry(2)]), { kind: c.kind })
    const shown: number[] = []
    for await (const { index } of engine.read(1)) shown.push(index)
    assert.deepEqual(shown, [1], 'nothing of it is shown before the next opening')
    const next = openMemoryEngine({ disk: engine.disk })
    assert.equal(next.initialPosition.lastIndex, c.lastIndex)
    await next.append([entry(c.lastIndex + 1)])
  })
}

test('an engine whose disk was opened again is fenced off', async () => {
  const old = openMemoryEngine()
  await old.append([entry(1)])
  const next = openMemoryEngine({ disk: old.disk })
  await assert.rejects(old.append([entry(2)]), { kind: 'storage-fenced' })
  await assert.rejects(old.checkpoint([], { upTo: 1, tableIndexes: {} }), {
    kind: 'storage-fenced',
  })
  await assert.rejects(old.trim(1), { kind: 'storage-fenced' })
  await next.append([entry(2)])
})

function entry(index: number): LogEntry {
  return { index, timeMs: index, text: `commit ${index}`, blobs: [] }
}
