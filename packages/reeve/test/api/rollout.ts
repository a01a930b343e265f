import assert from 'node:assert/strict'
import type { Deployment, Input, Job, TaskGroup, UpdateStrategy } from '@reeve/contract'
import { DeploymentLoop } from '../../src/control/index.ts'
import { isoFromMs, nsFromMs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../../src/model/index.ts'
import { isTerminal } from '../../src/model/index.ts'
import { namespacedKey } from '../../src/state/index.ts'
import { aGroup, aTask } from '../build/index.ts'
import { withScheduler, type ScheduledServer } from './cluster.ts'
import { createTestServer, type TestServer } from './harness.ts'

/** A server that schedules and watches deployments, and a test that speaks for the nodes. */
export interface RolloutServer extends ScheduledServer {
  readonly loop: DeploymentLoop
  /** Lets time pass, and whatever is due happen. */
  readonly pass: (ms?: number) => Promise<void>
  /** Says of allocations that they run, and how they are; then lets the watcher look. */
  readonly health: (rows: readonly AllocationRow[], healthy: boolean) => Promise<void>
  /** The newest deployment of a job. */
  readonly latest: (jobId?: string) => Deployment
  /** The allocations of a job that nobody has ended, of one version when it is given. */
  readonly live: (version?: number) => readonly AllocationRow[]
  /** Registers the job with another command, and has the whole of it become healthy. */
  readonly succeed: (wish?: RolloutWish) => Promise<Deployment>
  readonly job: (jobId?: string) => Job
}

export interface RolloutWish {
  /** Another one is another version. */
  readonly command?: string
  readonly count?: number
  readonly update?: Input<UpdateStrategy>
  readonly group?: Input<TaskGroup>
  readonly id?: string
}

/** A service of one group that is rolled out. */
export function aRollout(wish: RolloutWish = {}): Input<Job> {
  const { command = '/bin/one', count = 2, update = {}, group = {}, id = 'web' } = wish
  const Tasks = [aTask({ Config: { command }, Resources: { CPU: 10, MemoryMB: 10 } })]
  return { ID: id, TaskGroups: [aGroup({ Count: count, Update: update, ...group, Tasks })] }
}

export async function aRolloutServer(
  given?: TestServer,
  watches = true,
  checkClock = silent,
): Promise<RolloutServer> {
  const server = given ?? (await createTestServer({ aclEnabled: false }))
  const scheduled = await withScheduler(server, 1)
  const { clock } = server
  const { store, ids } = server.context
  const { deployments } = store.tables
  const log = { info: silent, warn: silent, error: fail }
  const loop = new DeploymentLoop({ store, clock, ids, log, checkClock })
  if (watches) loop.start()
  const latest = (jobId = 'web'): Deployment => {
    const rows = deployments.rowsByIndex('job', namespacedKey('default', jobId))
    const found = rows.toSorted((a, b) => a.CreateIndex - b.CreateIndex).at(-1)
    return found ?? assert.fail('there is no deployment')
  }
  const pass = async (ms = 100): Promise<void> => {
    await scheduled.settle()
    clock.advance(ms)
    await scheduled.settle()
  }
  const health: RolloutServer['health'] = async (rows, healthy) => {
    const Timestamp = isoFromMs(clock.nowMs())
    const DeploymentStatus = { Healthy: healthy, Timestamp, Canary: false, ModifyIndex: 0 }
    for (const row of rows) await scheduled.report(row, 'running', { DeploymentStatus })
    await pass()
  }
  const live: RolloutServer['live'] = (version) =>
    scheduled
      .allocationsOf('web')
      .filter((row) => !isTerminal(row) && (version ?? row.JobVersion) === row.JobVersion)
  const rollout: RolloutServer = {
    ...scheduled,
    loop,
    pass,
    health,
    latest,
    live,
    job: (jobId = 'web') => store.tables.jobs.get(namespacedKey('default', jobId)),
    async succeed(wish = {}) {
      await scheduled.run(aRollout(wish))
      for (let wave = 0; latest().Status === 'running'; wave++) {
        assert.ok(wave < 20, 'the deployment comes to an end')
        const waiting = live(latest().JobVersion).filter((row) => {
          return typeof row.DeploymentStatus?.Healthy !== 'boolean'
        })
        await health(waiting, true)
      }
      return latest()
    },
  }
  return rollout
}

/** Nothing is ever placed again: the first failure is the last. */
export const FINAL: Input<TaskGroup> = {
  ReschedulePolicy: { Attempts: 0, Unlimited: false },
}

export const minutes = (count: number): number => nsFromMs(count * 60_000)

function silent(): void {
  return undefined
}

function fail(fields: object, message: string): void {
  assert.fail(`${message}: ${JSON.stringify(fields)}`)
}
