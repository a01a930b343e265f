import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { v2 } from '@reeve/contract'
import { readPlanBytes } from '../../../src/governance/runs/plans.ts'
import { LIMITS } from '../../../src/model/index.ts'
import { planBlobKey, planPartBlobKey, put } from '../../../src/state/index.ts'
import { MemoryDisk } from '../../../src/storage/index.ts'
import { createTestServer } from '../harness.ts'
import { aBody, governanceAt } from './harness.ts'
import { aRunWorld, NO_CHANGES, type RunWorld } from './run-world.ts'

const PART = LIMITS.planPartBytes

/** A plan of exactly so many bytes, each part of which differs from the others. */
function aPlan(bytes: number, seed = 'a'): string {
  const head = NO_CHANGES.replace('}', ',"notes":"')
  const noise = Array.from({ length: Math.ceil(bytes / 16) }, (_, at) =>
    `${seed}${at}`.padEnd(16, '.'),
  ).join('')
  return `${head}${noise.slice(0, bytes - head.length - 2)}"}`
}

describe('plans in parts', () => {
  let world: RunWorld
  before(async () => void (world = await aRunWorld()))
  after(() => world.close())

  const planOf = (run: v2.Run) => {
    const { store } = world.it.server.context
    return store.tables.run_plans.get(run.relationships.plan.data.id)
  }
  const partsOf = (run: v2.Run): readonly string[] => {
    const { plan_parts: parts } = world.it.server.context.store.tables
    return [...parts.keysByIndex('plan', planOf(run).id)].toSorted()
  }
  const stored = async (run: v2.Run): Promise<string> => {
    const bytes = await readPlanBytes(world.it.server.context, planOf(run))
    return Buffer.from(bytes ?? []).toString()
  }

  /** Calls back once, when so many parts were written from now on. */
  const afterParts = (count: number, then: () => void): void => {
    let left = count
    world.it.server.context.store.tables.plan_parts.onKeyChange(() => {
      if (--left === 0) queueMicrotask(then)
    })
  }

  for (const { name, bytes, parts } of [
    { name: 'as large as a part is one blob', bytes: PART, parts: 0 },
    { name: 'one byte larger is two parts', bytes: PART + 1, parts: 2 },
    { name: 'of several parts is as many', bytes: 3 * PART, parts: 3 },
  ])
    test(`a plan ${name}, and is read as it was uploaded`, async () => {
      const { store } = world.it.server.context
      const run = await world.newRun()
      const index = store.index
      const plan = aPlan(bytes)
      assert.equal(plan.length, bytes)
      assert.equal((await world.upload(run, plan)).status, 202)
      assert.equal(partsOf(run).length, parts)
      assert.equal(store.index - index, Math.max(1, parts), 'one commit for each part')
      assert.ok((await stored(run)) === plan)
      for (const key of parts === 0
        ? [planBlobKey(planOf(run).id)]
        : partsOf(run).map(planPartBlobKey))
        assert.equal(Buffer.from((await store.readBlob(key)) ?? []).includes('a12....'), false, key)
      const shown = await world.it.server.send(
        'GET',
        `/api/v2/plans/${planOf(run).id}/json-output`,
        { headers: { authorization: `Bearer ${world.it.root}` } },
      )
      assert.ok(shown.text === JSON.stringify(JSON.parse(plan)))
    })

  test('a plan in parts goes with its workspace, and so do its blobs', async () => {
    const { store } = world.it.server.context
    const { data: workspace } = await world.it.created('createWorkspace', {
      params: { organization_name: 'acme' },
      body: aBody('workspaces', { name: 'short-lived' }),
    })
    const related = { workspace: { data: { type: 'workspaces', id: workspace.id } } }
    const { data: run } = await world.it.created('createRun', { body: aBody('runs', {}, related) })
    assert.equal((await world.upload(run, aPlan(2 * PART))).status, 202)
    const parts = partsOf(run)
    assert.equal(parts.length, 2)
    await world.it.done('deleteWorkspace', { params: { workspace_id: workspace.id } })
    for (const part of parts) {
      assert.equal(store.tables.plan_parts.has(part), false)
      assert.equal(await store.readBlob(planPartBlobKey(part)), undefined)
    }
  })

  test('of two uploads of one plan the second is refused', async () => {
    const run = await world.newRun()
    const plan = aPlan(3 * PART)
    const replies = await Promise.all([world.upload(run, plan), world.upload(run, plan)])
    assert.deepEqual(
      replies.map(({ status }) => status).toSorted((a, b) => a - b),
      [202, 409],
    )
    assert.ok((await stored(run)) === plan)
  })

  test('an upload ends when its run waits no more, and leaves nothing', async () => {
    const run = await world.newRun()
    const { store } = world.it.server.context
    afterParts(3, () => {
      const canceled = { ...store.tables.runs.get(run.id), status: 'canceled' as const }
      store.commit({ by: 'system', cause: undefined, changes: () => [put('runs', canceled)] })
    })
    assert.equal((await world.upload(run, aPlan(8 * PART))).status, 409)
    assert.deepEqual(partsOf(run), [])
  })

  test('after an upload that was broken off by a crash the plan can be uploaded again', async () => {
    const run = await world.newRun()
    const planId = planOf(run).id
    let disk = new MemoryDisk()
    afterParts(4, () => (disk = copyOf(world.it.server.engine.disk)))
    assert.equal((await world.upload(run, aPlan(8 * PART, 'old'))).status, 202)

    const next = await createTestServer({ disk })
    const it = governanceAt(next, world.it.root)
    const { store } = next.context
    const partIds = () => [...store.tables.plan_parts.keysByIndex('plan', planId)]
    assert.equal(store.tables.run_plans.get(planId).bytes, null)
    assert.ok(partIds().length >= 3 && partIds().length < 8, `${partIds().length} parts`)
    const plan = aPlan(2 * PART, 'new')
    const reply = await it.call('uploadPlan', {
      params: { plan_id: planId },
      body: plan,
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(reply.status, 202, reply.text)
    const bytes = await readPlanBytes(next.context, store.tables.run_plans.get(planId))
    assert.ok(Buffer.from(bytes ?? []).toString() === plan)
    assert.equal(partIds().length, 2)
    await next.close()
  })
})

/** What a crash at this moment would leave. */
function copyOf(disk: MemoryDisk): MemoryDisk {
  const copy = new MemoryDisk()
  for (const [index, entry] of disk.log) copy.log.set(index, entry)
  for (const [key, row] of disk.rows) copy.rows.set(key, row)
  for (const [key, bytes] of disk.blobs) copy.blobs.set(key, bytes)
  const { firstIndex, lastIndex, checkpoint } = disk
  return Object.assign(copy, { firstIndex, lastIndex, checkpoint })
}
