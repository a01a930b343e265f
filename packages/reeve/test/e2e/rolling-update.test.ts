import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AllocationStub, Deployment, Input, Job, UpdateStrategy } from '@reeve/contract'
import type { Client } from '@reeve/sdk'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startProgram } from './program-process.ts'

const GOOD = 'exec sleep 120'
const BAD = 'exit 1'

interface Wish {
  readonly script: string
  readonly count?: number
  readonly update?: Partial<UpdateStrategy>
}

/** A service whose failures are final: nothing restarts or replaces what ends. */
function aService(ID: string, { script, count = 1, update = {} }: Wish): Input<Job> {
  return {
    ID,
    Type: 'service',
    TaskGroups: [
      {
        Name: 'app',
        Count: count,
        Update: {
          MaxParallel: 1,
          HealthCheck: 'task_states',
          MinHealthyTime: nsFromMs(200),
          HealthyDeadline: nsFromMs(20_000),
          ProgressDeadline: nsFromMs(60_000),
          ...update,
        },
        RestartPolicy: { Attempts: 0, Mode: 'fail' },
        ReschedulePolicy: { Attempts: 0, Unlimited: false },
        Tasks: [
          {
            Name: 'task',
            Driver: 'raw_exec',
            Config: { command: '/bin/sh', args: ['-c', script] },
            KillTimeout: nsFromMs(1_000),
            Resources: { CPU: 20, MemoryMB: 16 },
          },
        ],
      },
    ],
  }
}

/** A service of a test's own. */
interface Service {
  readonly client: Client
  readonly of: { readonly params: { readonly job_id: string } }
}

async function register({ client, of }: Service, wish: Wish): Promise<void> {
  await client.v1.registerJob({ body: { Job: aService(of.params.job_id, wish) } })
}

/** Waits until the latest deployment is of that version and status. */
async function reached(service: Service, version: number, status: string): Promise<Deployment> {
  const { client, of } = service
  return await until(`version ${version} to be ${status}`, async () => {
    const { data } = await client.v1.readLatestDeployment(of)
    return data?.JobVersion === version && data.Status === status ? data : undefined
  })
}

async function living({ client, of }: Service): Promise<readonly AllocationStub[]> {
  const { data } = await client.v1.listJobAllocations(of)
  return data.filter((one) => one.DesiredStatus === 'run' && one.ClientStatus === 'running')
}

/** Leaves nothing running on the machine. */
async function stop({ client, of }: Service): Promise<void> {
  await client.v1.stopJob(of)
  await until('everything to end', async () => {
    const { data } = await client.v1.listJobAllocations(of)
    return data.every((one) => one.ClientStatus !== 'running') || undefined
  })
}

async function versionsOf({ client, of }: Service) {
  const { data } = await client.v1.listJobVersions({ ...of, query: {} })
  return data.Versions.map((job) => [job.Version, job.Stable] as const)
}

/** Jobs of their own on one program. */
test('roll-out', async (t) => {
  const { client } = await startProgram(t, await temporaryDirectory(t))

  await t.test(
    'roll-out: a new version replaces the old one by one, and then is stable',
    async () => {
      const of = { params: { job_id: 'replaced' } }
      const service = { client, of }
      await register(service, { script: GOOD, count: 3 })
      const first = await reached(service, 0, 'successful')
      assert.equal(first.TaskGroups['app']?.HealthyAllocs, 3)
      assert.deepEqual(await versionsOf(service), [[0, true]])

      await register(service, { script: `: two; ${GOOD}`, count: 3 })
      const second = await reached(service, 1, 'successful')
      const { app } = second.TaskGroups
      assert.deepEqual([app?.DesiredTotal, app?.PlacedAllocs, app?.HealthyAllocs], [3, 3, 3])
      assert.equal(second.StatusDescription, 'Deployment completed successfully')
      const { data: placed } = await client.v1.listDeploymentAllocations({
        params: { deployment_id: second.ID },
      })
      // One at a time: each was placed after the one before it was found healthy.
      const inOrder = placed.toSorted((a, b) => a.CreateIndex - b.CreateIndex)
      for (const [i, one] of inOrder.entries()) {
        const before = inOrder[i - 1]
        if (before === undefined) continue
        const healthyIndex = before.DeploymentStatus?.ModifyIndex ?? Infinity
        assert.ok(one.CreateIndex > healthyIndex, `${one.Name} came too early`)
      }
      assert.deepEqual(
        (await living(service)).map((one) => [one.JobVersion, one.DeploymentStatus?.Healthy]),
        [
          [1, true],
          [1, true],
          [1, true],
        ],
      )
      assert.deepEqual(await versionsOf(service), [
        [1, true],
        [0, true],
      ])
      await stop(service)
    },
  )

  await t.test('roll-out: a canary runs beside the old version until it is promoted', async () => {
    const of = { params: { job_id: 'tried' } }
    const service = { client, of }
    await register(service, { script: GOOD, count: 2 })
    await reached(service, 0, 'successful')
    await register(service, { script: `: two; ${GOOD}`, count: 2, update: { Canary: 1 } })
    const waiting = await reached(service, 1, 'running')
    assert.equal(waiting.StatusDescription, 'Deployment is running but requires manual promotion')
    await until('the canary to be healthy', async () => {
      const { data } = await client.v1.readDeployment({ params: { deployment_id: waiting.ID } })
      return data.TaskGroups['app']?.HealthyAllocs === 1 || undefined
    })
    const counts = Map.groupBy(await living(service), (one) => one.JobVersion)
    assert.deepEqual([counts.get(0)?.length, counts.get(1)?.length], [2, 1])
    const promoted = await client.v1.promoteDeployment({
      params: { deployment_id: waiting.ID },
      body: { DeploymentID: waiting.ID, All: true },
    })
    assert.notEqual(promoted.data.EvalID, '')
    const done = await reached(service, 1, 'successful')
    assert.equal(done.TaskGroups['app']?.Promoted, true)
    assert.deepEqual(
      (await living(service)).map((one) => [one.JobVersion, one.DeploymentStatus?.Canary]),
      [
        [1, false],
        [1, false],
      ],
    )
    await stop(service)
  })

  await t.test(
    'roll-out: a version that fails is taken back, and the old one runs on',
    async () => {
      const of = { params: { job_id: 'failing' } }
      const service = { client, of }
      await register(service, { script: GOOD, count: 2, update: { AutoRevert: true } })
      await reached(service, 0, 'successful')
      await register(service, { script: BAD, count: 2, update: { AutoRevert: true } })
      const back = await reached(service, 2, 'successful')
      assert.equal(back.StatusDescription, 'Deployment completed successfully')
      const { data: all } = await client.v1.listJobDeployments(of)
      const failed = all.find((one) => one.JobVersion === 1)
      assert.equal(failed?.Status, 'failed')
      assert.match(
        failed.StatusDescription,
        /^Failed due to unhealthy allocations - rolling back to job version 0: allocation [0-9a-f]{8} of group "app", task "\w+": Exit Code: \d/,
      )
      const { data: job } = await client.v1.readJob(of)
      const args: unknown = job.TaskGroups[0]?.Tasks[0]?.Config?.['args']
      assert.deepEqual([args, job.Version, job.Stable], [['-c', GOOD], 2, true])
      assert.deepEqual(await versionsOf(service), [
        [2, true],
        [1, false],
        [0, true],
      ])
      const running = await until('both to run again', async () => {
        const found = await living(service)
        return found.length === 2 ? found : undefined
      })
      assert.deepEqual(
        running.map((one) => one.JobVersion),
        [2, 2],
      )
      await stop(service)
    },
  )

  await t.test('roll-out: one that finds no room for all of it in time fails', async () => {
    const of = { params: { job_id: 'cramped' } }
    const service = { client, of }
    // There is one node, so that the second instance waits for another in vain.
    const Constraints = [{ LTarget: '', Operand: 'distinct_hosts', RTarget: 'true' }]
    const job = aService(of.params.job_id, {
      script: GOOD,
      count: 2,
      update: { HealthyDeadline: nsFromMs(2_000), ProgressDeadline: nsFromMs(2_100) },
    })
    const TaskGroups = (job.TaskGroups ?? []).map((group) => ({
      ...group,
      ReschedulePolicy: { Unlimited: true, Delay: nsFromMs(60_000), MaxDelay: nsFromMs(60_000) },
    }))
    await client.v1.registerJob({ body: { Job: { ...job, Constraints, TaskGroups } } })
    const failed = await reached(service, 0, 'failed')
    const { app } = failed.TaskGroups
    assert.deepEqual(
      [failed.StatusDescription, app?.DesiredTotal, app?.PlacedAllocs],
      ['Failed due to progress deadline', 2, 1],
    )
    assert.deepEqual(await versionsOf(service), [[0, false]])
    await stop(service)
  })
})
