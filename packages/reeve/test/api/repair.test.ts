import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anId } from '../build/index.ts'
import { ofJob, putNode } from './cluster.ts'
import { aRollout, aRolloutServer, type RolloutServer } from './rollout.ts'

/** Half of what a node of the builders has. */
const Resources = { CPU: 1_900, MemoryMB: 10 }

async function loseNode({ server, settle }: RolloutServer, n: number): Promise<void> {
  await putNode(server, { ID: anId('node', n), Name: `node-${n}`, Status: 'down' })
  await server.ok('evaluateJob', { ...ofJob(), body: { JobID: 'web' } })
  await settle()
}

/** Two allocations of a service fill the only node; its deployment has failed. */
async function afterFailedDeployment(how: 'by hand' | 'by its deadline') {
  const rollout = await aRolloutServer()
  const { server, run, latest, live, pass, report } = rollout
  const job = aRollout({ update: { ProgressDeadline: 60e9, HealthyDeadline: 30e9 } })
  await run({
    ...job,
    TaskGroups:
      job.TaskGroups?.map((group) => ({
        ...group,
        Tasks: group.Tasks?.map((task) => ({ ...task, Resources })) ?? null,
      })) ?? null,
  })
  for (const row of live()) await report(row, 'running')
  const { ID } = latest()
  if (how === 'by its deadline') await pass(61_000)
  else
    await server.ok('failDeployment', { params: { deployment_id: ID }, body: { DeploymentID: ID } })
  await pass()
  assert.equal(latest().Status, 'failed')
  assert.equal(live().length, 2)
  return rollout
}

for (const how of ['by hand', 'by its deadline'] as const)
  test(`repair: a service whose deployment failed ${how} is placed again when a node joins`, async () => {
    const rollout = await afterFailedDeployment(how)
    const { server, live, job, pass } = rollout
    await loseNode(rollout, 1)
    assert.deepEqual([live().length, job().Status], [0, 'pending'])
    const evaluations = await server.ok('listJobEvaluations', ofJob())
    const blocked = evaluations.find(({ Status }) => Status === 'blocked')
    assert.deepEqual(blocked?.QueuedAllocations, { app: 2 })
    assert.ok(blocked.FailedTGAllocs?.['app'], 'it names what is missing')
    const explanation = await server.ok('explainJob', ofJob())
    assert.equal(explanation.EvalStatus, 'blocked')
    assert.equal(explanation.Groups[0]?.Unplaced, 2)
    assert.match(explanation.Text, /node/)

    await putNode(server, { ID: anId('node', 2), Name: 'node-2' })
    await pass()
    assert.deepEqual(
      live().map((row) => [row.NodeName, row.JobVersion]),
      [
        ['node-2', 0],
        ['node-2', 0],
      ],
    )
    assert.equal(job().Status, 'running')
    assert.equal((await server.ok('explainJob', ofJob())).Text, 'all allocations are placed')
  })

test('repair: explain asks for the version that would be placed', async () => {
  const rollout = await afterFailedDeployment('by hand')
  const { server, run, latest, live, health, pass } = rollout
  await run(aRollout({ command: '/bin/two', update: { Canary: 1 } }))
  await health(live(1), true)
  const { ID } = latest()
  await server.ok('failDeployment', { params: { deployment_id: ID }, body: { DeploymentID: ID } })
  await pass()
  await loseNode(rollout, 1)
  // Version 1 needs little; version 0, which is placed, does not fit.
  await putNode(server, {
    ID: anId('node', 2),
    Name: 'node-2',
    NodeResources: {
      ...(await putNode(server, { ID: anId('node', 3), Status: 'down' })).NodeResources,
      Cpu: { CpuShares: 1_000, TotalCpuCores: 1, ReservableCpuCores: [] },
    },
  })
  await pass()
  assert.deepEqual(live(), [])
  const explanation = await server.ok('explainJob', ofJob())
  assert.match(explanation.Text, /CPU|cpu/)
})
