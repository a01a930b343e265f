import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClientStatus, Deployment, Input, Job, PlacementMetrics } from '@reeve/contract'
import fc from 'fast-check'
import { canonicalizeAndValidate } from '../../src/workload/jobs/job-commit.ts'
import { dryRun } from '../../src/workload/jobs/plan.ts'
import type { AllocationRow } from '../../src/model/index.ts'
import type { Plan } from '../../src/scheduler/index.ts'
import { namespacedKey } from '../../src/state/index.ts'
import { aGroup, aTask } from '../build/index.ts'
import { register, withScheduler, type ScheduledServer } from '../api/cluster.ts'
import { createTestServer } from '../api/harness.ts'

const groupParts = fc.record({
  count: fc.integer({ min: 0, max: 6 }),
  memory: fc.constantFrom(300, 2_500, 5_000),
  command: fc.constantFrom('/bin/a', '/bin/b'),
  parallel: fc.integer({ min: 0, max: 2 }),
  canary: fc.integer({ min: 0, max: 1 }),
  port: fc.boolean(),
})

const version = fc.record({
  priority: fc.constantFrom(40, 60),
  kind: fc.constantFrom('plain', 'spread', 'distinct'),
  groups: fc.array(groupParts, { minLength: 1, maxLength: 2 }),
})

const history = fc.record({
  nodes: fc.integer({ min: 0, max: 4 }),
  type: fc.constantFrom('service', 'batch', 'system'),
  steps: fc.array(
    fc.record({
      version,
      /** What the nodes say of what was placed, in turn. */
      reports: fc.array(fc.constantFrom<ClientStatus>('running', 'failed', 'complete'), {
        maxLength: 5,
      }),
    }),
    { minLength: 1, maxLength: 4 },
  ),
})

type Version = typeof version extends fc.Arbitrary<infer V> ? V : never

function jobOf(type: string, { priority, kind, groups }: Version): Input<Job> {
  const isSystem = type === 'system'
  return {
    Type: type,
    Priority: priority,
    ...(kind === 'distinct' && !isSystem ? { Constraints: [{ Operand: 'distinct_hosts' }] } : {}),
    ...(kind === 'spread' && !isSystem ? { Spreads: [{ Attribute: '${node.unique.name}' }] } : {}),
    TaskGroups: groups.map(({ count, memory, command, parallel, canary, port }, n) =>
      aGroup({
        Name: `g${n}`,
        Count: isSystem ? Math.min(1, count) : count,
        ...(type === 'batch' ? {} : { Update: { MaxParallel: parallel, Canary: canary } }),
        ...(port ? { Networks: [{ ReservedPorts: [{ Label: 'p', Value: 7_000 + n }] }] } : {}),
        Tasks: [aTask({ Config: { command }, Resources: { MemoryMB: memory } })],
      }),
    ),
  }
}

/** What of an allocation a plan decides; ids, times and ports are made anew in each run. */
function decided(row: AllocationRow) {
  const { Name, NodeID, JobVersion, DesiredStatus, DesiredDescription, ClientStatus } = row
  const isCanary = row.DeploymentStatus?.Canary ?? false
  return { Name, NodeID, JobVersion, DesiredStatus, DesiredDescription, ClientStatus, isCanary }
}

function sorted(list: readonly object[]): readonly string[] {
  return list.map((one) => JSON.stringify(one)).toSorted()
}

/** What was planned, in the words in which what was done can be told too. */
function told(plan: Plan) {
  const changed = [...plan.stops, ...plan.updates, ...plan.attributeUpdates, ...plan.preemptions]
  return {
    placed: sorted(plan.placements.map(decided)),
    changed: sorted(changed.map((row) => [row.ID, decided(row)])),
    queued: plan.evaluation.QueuedAllocations,
    failed: withoutTimes(plan.evaluation.FailedTGAllocs),
    isBlocked: plan.blockedEvaluation !== undefined,
    followUps: plan.followUpEvaluations.length,
    deployments: sorted(
      [plan.deployment, ...plan.deploymentUpdates].flatMap((row) =>
        row === undefined ? [] : [rolledOut(row)],
      ),
    ),
  }
}

function rolledOut({ JobVersion, Status, StatusDescription }: Deployment): object {
  return { JobVersion, Status, StatusDescription }
}

function withoutTimes(failed: Readonly<Record<string, PlacementMetrics>> | null): object {
  return Object.fromEntries(
    Object.entries(failed ?? {}).map(([name, metrics]) => [
      name,
      { ...metrics, AllocationTime: 0 },
    ]),
  )
}

/** Registers the job and lets it be scheduled: what that did. */
async function done({ server, run }: ScheduledServer, job: Input<Job>) {
  const { tables } = server.context.store
  const rowsOf = () => new Map([...tables.allocations.rows()].map((row) => [row.ID, row]))
  const before = { rows: rowsOf(), deployments: [...tables.deployments.rows()] }
  const known = new Set([...tables.evaluations.rows()].map((row) => row.ID))
  await run(job)
  const after = [...rowsOf().values()]
  const evaluations = [...tables.evaluations.rows()].filter((row) => !known.has(row.ID))
  const own = evaluations.find((row) => row.TriggeredBy === 'job-register') ?? assert.fail()
  const deployments = [...tables.deployments.rows()].filter(
    (row) => !before.deployments.some((old) => JSON.stringify(old) === JSON.stringify(row)),
  )
  return {
    placed: sorted(after.filter((row) => !before.rows.has(row.ID)).map(decided)),
    changed: sorted(
      after
        .filter(
          (row) => (before.rows.get(row.ID)?.ModifyIndex ?? row.ModifyIndex) < row.ModifyIndex,
        )
        .map((row) => [row.ID, decided(row)]),
    ),
    queued: own.QueuedAllocations,
    failed: withoutTimes(own.FailedTGAllocs),
    isBlocked: own.BlockedEval !== '',
    followUps: evaluations.filter((row) => row.PreviousEval === own.ID && row.Status === 'pending')
      .length,
    deployments: sorted(deployments.map(rolledOut)),
  }
}

test('plan: what it says is what the registration then does, whatever was there before', async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ nodes, type, steps }) => {
      const scheduled = await withScheduler(await createTestServer({ aclEnabled: false }), nodes)
      const { context } = scheduled.server
      for (const step of steps) {
        const job = jobOf(type, step.version)
        const wanted = canonicalizeAndValidate(context, { ID: 'web', ...job }, 'default')
        assert.ok(wanted.ok)
        const current = context.store.tables.jobs.find(namespacedKey('default', 'web'))
        const plan = dryRun(context, wanted.value, current)
        const index = context.store.index
        const said = await scheduled.server.ok('planJob', {
          params: { job_id: 'web' },
          ...register(job),
        })
        assert.equal(context.store.index, index)
        assert.deepEqual(said.Annotations, plan.annotations)
        assert.deepEqual(await done(scheduled, job), told(plan))
        for (const [n, status] of step.reports.entries()) {
          const row = scheduled.allocationsOf('web')[n]
          if (row !== undefined) await scheduled.report(row, status)
        }
      }
      await scheduled.server.close()
    }),
    { numRuns: 20, seed: 1 },
  )
})
