import type { Input, Job } from '@reeve/contract'
import { isTerminal } from '../src/model/index.ts'
import { namespacedKey } from '../src/state/index.ts'
import { registerJob } from '../src/workload/index.ts'
import { CALLER, SIMULATED_ORIGIN } from './operations.ts'
import { SingleServer } from './single-server.ts'
import { POISON_JOB, World } from './world.ts'

const namespace = 'default'
const SERVICES = ['service-1', 'service-2', 'service-3'] as const
const SERVICE_COUNT = 2
/** Longer than both delays, both losses and the window in which losses count. */
const DURATION_MS = 30 * 60_000
const STEP_MS = 10_000

export interface PoisonResult {
  readonly violation: string | undefined
  readonly nodesLost: number
  readonly isQuarantined: boolean
  /** Other jobs that were quarantined or are incomplete. */
  readonly affectedJobs: readonly string[]
  readonly crashes: number
}

/**
 * Simulates a job that stops every machine on which it starts, next to healthy jobs. The leader
 * dies now and then: the record of node losses must survive.
 */
export async function simulatePoisonJob(seed: number, nodes: number): Promise<PoisonResult> {
  const world = new World({ seed, nodes, createBackend: (one) => new SingleServer(one) })
  const crashes = world.randomStream('poison crashes')
  // Tasks are healthy from here on, so an incomplete job was affected by the poison job.
  world.stopFaults()
  await world.backend.open()
  await advance(world, 2 * STEP_MS)
  for (const ID of SERVICES) await register(world, ID, SERVICE_COUNT)
  await advance(world, 6 * STEP_MS)
  await register(world, POISON_JOB, 1)
  for (let ms = 0; ms < DURATION_MS && !world.hasFailed(); ms += STEP_MS) {
    if (crashes.chance(0.05)) await world.backend.crash('the power went')
    await advance(world, STEP_MS)
  }
  const { expectedState } = world
  return {
    violation: world.violation?.message,
    nodesLost: [...world.nodes.values()].filter((node) => !node.isOn).length,
    isQuarantined:
      expectedState.jobs.find(namespacedKey(namespace, POISON_JOB))?.Quarantine !== undefined,
    affectedJobs: SERVICES.filter((id) => isAffected(world, id)),
    crashes: world.backend.crashes,
  }
}

async function advance(world: World, ms: number): Promise<void> {
  await world.clock.advance(ms, world.hasFailed)
}

async function register(world: World, id: string, Count: number): Promise<void> {
  const { leader } = world
  if (leader === undefined) throw new Error('a calm world has a leader')
  const Resources = { CPU: 100, MemoryMB: 64 }
  const Tasks = [{ Name: 'main', Driver: 'mock', Config: {}, Resources }]
  const body: { readonly Job: Input<Job> } = {
    Job: { ID: id, Type: 'service', TaskGroups: [{ Name: 'a', Count, Tasks }] },
  }
  const request = {
    body,
    origin: SIMULATED_ORIGIN,
    pathJobId: undefined,
    queryNamespace: namespace,
    queryRegion: '',
  }
  const registering = registerJob(leader.context, CALLER, request)
  await advance(world, STEP_MS)
  const registered = await registering
  if (!registered.ok) throw new Error(registered.error.message)
}

function isAffected({ expectedState }: World, id: string): boolean {
  const key = namespacedKey(namespace, id)
  const running = expectedState.allocations
    .inGroup(`job ${key}`)
    .filter((row) => !isTerminal(row) && row.ClientStatus === 'running')
  return running.length !== SERVICE_COUNT || expectedState.jobs.find(key)?.Quarantine !== undefined
}
