import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ofJob } from '../cluster.ts'
import { aGuardedServer } from '../guarded.ts'
import { aBody } from './harness.ts'
import { aRunWorld, NO_CHANGES } from './run-world.ts'

const ABOUT_PLANS = 'import "plan/v2" as plan\nmain = false'
const ABOUT_JOBS = 'main = job.priority < 10'

test('a policy about plans is told as skipped where a job is judged', async () => {
  const { server, register, guard } = await aGuardedServer()
  await guard({ name: 'plans', code: ABOUT_PLANS })
  const { body, token } = register()
  const { PolicyVerdicts } = await server.ok('planJob', { ...ofJob(), body, token })
  const [outcome] = PolicyVerdicts ?? []
  assert.deepEqual(
    [outcome?.Status, outcome?.Effect, outcome?.Skipped, outcome?.Findings],
    ['passed', 'passes', 'it is about a plan', []],
  )
  await server.close()
})

test('a policy about jobs is told as skipped where a run is judged, or a plan tried', async () => {
  const world = await aRunWorld()
  await world.set('native', { name: 'jobs', policies: [{ name: 'one', code: ABOUT_JOBS }] })
  const policy = await world.policy({ name: 'other', code: ABOUT_JOBS })
  const check = await world.check(await world.judged())
  assert.equal(check.attributes.status, 'passed')
  const headers = { authorization: `Bearer ${world.it.root}` }
  const { text } = await world.it.server.send('GET', check.links.output, { headers })
  const lines = [
    'Policy set jobs',
    '  SKIPPED  one (soft-mandatory): it is about a job',
    '',
    '0 policies evaluated: 0 passed, 0 failed, 0 errored, 1 skipped',
    '',
  ]
  assert.equal(text, lines.join('\n'))
  const { data } = await world.it.ok('tryPolicy', {
    params: { policy_id: policy },
    body: aBody('policy-trials', { input: { plan: JSON.parse(NO_CHANGES) } }),
  })
  assert.deepEqual(
    [data.attributes.status, data.attributes.skipped],
    ['passed', 'it is about a job'],
  )
  await world.close()
})

test('a policy check is read with its run and workspace', async () => {
  const world = await aRunWorld()
  await world.set('native', { name: 'jobs', policies: [{ name: 'one', code: ABOUT_JOBS }] })
  const run = await world.judged()
  const { id } = await world.check(run)
  const query = { include: 'run.workspace' }
  const reads = [
    await world.it.ok('readPolicyCheck', { params: { policy_check_id: id }, query }),
    await world.it.ok('listPolicyChecks', { params: { run_id: run.id }, query }),
  ]
  for (const { included } of reads)
    assert.deepEqual(
      included?.map((one) => one.id),
      [run.id, run.relationships.workspace.data.id],
    )
  await world.close()
})
