import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RunWorker } from '../../../src/governance/index.ts'
import { aBody } from './harness.ts'
import { aRunWorld, BUCKETS } from './run-world.ts'

test('runs of organizations are judged in turn', async () => {
  const world = await aRunWorld()
  await world.set('native', {
    name: 'one',
    policies: [{ name: 'one', code: 'main = rule { true }' }],
  })
  const many = [await world.newRun(), await world.newRun(), await world.newRun()]
  await world.it.organization('other')
  const { data: workspace } = await world.it.created('createWorkspace', {
    params: { organization_name: 'other' },
    body: aBody('workspaces', { name: 'net' }),
  })
  const related = { workspace: { data: { type: 'workspaces', id: workspace.id } } }
  const { data: last } = await world.it.created('createRun', { body: aBody('runs', {}, related) })
  for (const run of [...many, last]) await world.upload(run, BUCKETS)
  const { context } = world.it.server
  const left: string[][] = []
  const waiting = () => [...context.store.tables.runs.keysByIndex('status', 'post_plan_running')]
  const loop = new RunWorker({
    context: {
      ...context,
      policyEngine: {
        evaluate: (...asked) => (left.push(waiting()), context.policyEngine.evaluate(...asked)),
        diagnose: () => Promise.resolve([]),
      },
    },
    log: { warn: () => undefined },
  })
  await loop.evaluatePending()
  await loop.stop()
  assert.deepEqual(waiting(), [])
  // The other organization has no policies of its own: its run is settled without a question,
  // before the last runs of the first organization are asked about.
  assert.equal(left.at(-1)?.includes(last.id), false)
  assert.equal(left.length, many.length)
  assert.equal(left[1]?.includes(last.id), false, 'its run does not wait for the other three')
  await world.close()
})
