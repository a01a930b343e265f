import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job, JobPlanResponse } from '@reeve/contract'
import type { Result } from '@reeve/kit/result.ts'
import { LIMITS, type Refusal } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import {
  Authenticator,
  planJob,
  validateSubmittedJob,
  type WorkOrigin,
  type WorkloadContext,
} from '../../src/workload/index.ts'
import { aGroup, anId, aTask } from '../build/index.ts'
import { withScheduler } from '../api/cluster.ts'
import { createTestServer } from '../api/harness.ts'

/** The work on large jobs is divided into slices, and a tenant has one large plan at a time. */

const LARGE = LIMITS.smallPlanInstancesMax + 1

/** Each step takes a millisecond of a clock of its own, so that slices end after five of them. */
function anOrigin(tenant = 'a', onTurn: (turn: number) => void | Promise<void> = () => undefined) {
  let nowMs = 0
  let turns = 0
  const origin: WorkOrigin = {
    tenant,
    monotonicMs: () => nowMs++,
    nextTurn: async () => await onTurn(++turns),
  }
  return { origin, turns: () => turns }
}

async function aServer(nodes = 3) {
  const { server } = await withScheduler(await createTestServer({ aclEnabled: false }), nodes)
  return server
}

function jobOf(groups: Input<Job>['TaskGroups']): Input<Job> {
  return { ID: 'web', TaskGroups: groups ?? [] }
}

function instances(Count: number): Input<Job> {
  return jobOf([aGroup({ Count, Tasks: [aTask({ Resources: { CPU: 1, MemoryMB: 40 } })] })])
}

function callerOf(context: WorkloadContext) {
  const caller = new Authenticator(context).authenticate(undefined)
  assert.ok(caller.ok)
  return caller.value
}

async function plan(context: WorkloadContext, job: Input<Job>, origin: WorkOrigin) {
  const request = { pathJobId: 'web', queryNamespace: '', queryRegion: '' }
  return await planJob(context, callerOf(context), {
    ...request,
    body: { Job: job, Diff: true },
    origin,
  })
}

function planned(result: Result<JobPlanResponse, Refusal>): object {
  assert.ok(result.ok)
  return { updates: result.value.Annotations, failed: result.value.FailedTGAllocs }
}

test('a plan of many instances gives others their turn after each slice', async () => {
  const server = await aServer()
  const { context } = server
  const { origin, turns } = anOrigin()
  assert.ok((await plan(context, instances(LARGE), origin)).ok)
  // A step has four instances, and a slice five steps.
  assert.ok(turns() >= LARGE / 20, `${turns()} turns`)
  await server.close()
})

test('a plan is of one state, whatever changes between its slices', async () => {
  const server = await aServer()
  const { context } = server
  const undisturbed = planned(await plan(context, instances(LARGE), anOrigin().origin))
  const { store } = context
  // After the first slice a node takes no work any more, and the others have no room for all.
  const disturb = (turn: number): void => {
    if (turn !== 1) return
    const node = store.tables.nodes.get(anId('node', 1))
    store.commit({
      by: 'system',
      cause: 'NodeDrain',
      changes: () => [put('nodes', { ...node, SchedulingEligibility: 'ineligible' })],
    })
  }
  const { origin, turns } = anOrigin('a', disturb)
  assert.deepEqual(planned(await plan(context, instances(LARGE), origin)), undisturbed)
  assert.ok(turns() > 1)
  const later = planned(await plan(context, instances(LARGE), anOrigin().origin))
  assert.notDeepEqual(later, undisturbed, 'the next plan sees what has changed')
  await server.close()
})

for (const { name, groups } of [
  { name: 'many groups', groups: Array.from({ length: 900 }, (_, i) => aGroup({ Name: `g${i}` })) },
  {
    name: 'one group of many tasks',
    groups: [aGroup({ Tasks: Array.from({ length: 900 }, (_, i) => aTask({ Name: `t${i}` })) })],
  },
])
  test(`a job of ${name} is validated in slices`, async () => {
    const server = await aServer()
    const { context } = server
    const { origin, turns } = anOrigin()
    const request = { body: { Job: jobOf(groups) }, queryNamespace: '', queryRegion: '', origin }
    const validated = await validateSubmittedJob(context, callerOf(context), request)
    assert.ok(validated.ok)
    assert.equal(validated.value.ValidationErrors, null)
    // Canonical form and validation, with a step for each task.
    assert.ok(turns() >= (2 * 900) / 5, `${turns()} turns`)
    await server.close()
  })

test('a small job is not interrupted', async () => {
  const server = await aServer()
  const { context } = server
  const { origin, turns } = anOrigin('a', () => assert.fail('it was interrupted'))
  const still = { ...origin, monotonicMs: () => 0 }
  assert.ok((await plan(context, instances(3), still)).ok)
  assert.equal(turns(), 0)
  await server.close()
})

test('one large plan of a tenant at a time; others wait, and more than may wait are refused', async () => {
  const server = await aServer()
  const { context } = server
  const paused = Promise.withResolvers<void>()
  const first = plan(context, instances(LARGE), anOrigin('a', () => paused.promise).origin)
  const started: string[] = []
  const note = (name: string) => anOrigin(name.slice(0, 1), () => void started.push(name)).origin
  const waiting = Array.from({ length: LIMITS.largePlansWaitingPerTenantMax }, () =>
    plan(context, instances(LARGE), note('a')),
  )
  await assert.rejects(plan(context, instances(LARGE), note('a')), {
    kind: 'overloaded',
    message:
      'too many large job plans of this caller are waiting (limit 8 per tenant); retry when some of them are done',
  })
  assert.ok((await plan(context, instances(LARGE), note('b'))).ok, 'another tenant has its turn')
  assert.ok((await plan(context, instances(1), note('a small'))).ok, 'a small plan does not wait')
  assert.deepEqual(new Set(started), new Set(['b', 'a small']))
  paused.resolve()
  assert.ok((await first).ok)
  for (const one of await Promise.all(waiting)) assert.ok(one.ok)
  await server.close()
})
