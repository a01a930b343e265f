import assert from 'node:assert/strict'
import test from 'node:test'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { jobVersionKey, namespacedKey } from '../../src/state/index.ts'
import { withScheduler } from '../api/cluster.ts'
import { createTestServer } from '../api/harness.ts'
import { aGroup } from '../build/index.ts'

async function aRollout(count = 2) {
  const server = await createTestServer({ aclEnabled: false })
  const scheduled = await withScheduler(server, 2)
  const job = { TaskGroups: [aGroup({ Count: count })] }
  await scheduled.run(job)
  const { tables } = server.context.store
  const key = namespacedKey('default', 'web')
  return {
    ...scheduled,
    server,
    tables,
    /** Registering what is registered already only evaluates it. */
    evaluate: () => scheduled.run(job),
    deployments: () => tables.deployments.rowsByIndex('job', key),
    job: () => tables.jobs.get(key),
    healthy: (Healthy: boolean) => ({
      DeploymentStatus: {
        Healthy,
        Timestamp: isoFromMs(server.clock.nowMs()),
        Canary: true,
        ModifyIndex: 0,
      },
    }),
  }
}

test('deployment: what nodes say of health is counted in the commit that stores it', async () => {
  const { report, allocationsOf, deployments, healthy } = await aRollout()
  const [first, second] = allocationsOf('web')
  await report(first ?? assert.fail(), 'running', healthy(true))
  await report(second ?? assert.fail(), 'running', healthy(false))
  const [deployment] = deployments()
  const state = deployment?.TaskGroups['app']
  assert.deepEqual(
    [state?.PlacedAllocs, state?.HealthyAllocs, state?.UnhealthyAllocs, state?.PlacedCanaries],
    [2, 1, 1, null],
  )
  assert.equal(allocationsOf('web')[0]?.DeploymentStatus?.Canary, false)
})

test('deployment: when all are healthy it succeeds, and the version is stable', async () => {
  const { report, allocationsOf, deployments, healthy, evaluate, job, tables } = await aRollout()
  for (const row of allocationsOf('web')) await report(row, 'running', healthy(true))
  await evaluate()
  assert.deepEqual(
    deployments().map((row) => [row.Status, row.StatusDescription]),
    [['successful', 'Deployment completed successfully']],
  )
  assert.equal(job().Stable, true)
  assert.equal(tables.job_versions.get(jobVersionKey('default', 'web', 0)).Stable, true)
  assert.equal(job().Status, 'running')
})

test('deployment: one that fails before it is healthy counts as unhealthy', async () => {
  const { report, allocationsOf, deployments } = await aRollout(1)
  await report(allocationsOf('web')[0] ?? assert.fail(), 'failed')
  assert.equal(deployments()[0]?.TaskGroups['app']?.UnhealthyAllocs, 1)
})
