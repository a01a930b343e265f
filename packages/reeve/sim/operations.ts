import { handlingOf, mayGrowState, v1Routes } from '@reeve/contract'
import { MANAGEMENT_GRANTS } from '../src/acl/index.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { Result } from '@reeve/kit/result.ts'
import {
  DEFAULT_SCHEDULER_CONFIGURATION,
  isActiveDeployment,
  type Refusal,
} from '../src/model/index.ts'
import {
  dispatchJob,
  drainNode,
  evaluateJob,
  failDeployment,
  forceGarbageCollection,
  forcePeriodicJob,
  promoteDeployment,
  purgeNode,
  registerJob,
  revertJob,
  scaleJob,
  setAllocationHealth,
  setEligibility,
  setPaused,
  stopAllocation,
  stopJob,
  writeSchedulerConfiguration,
  type RequestCaller,
  type WorkloadContext,
} from '../src/workload/index.ts'
import type { RandomStream } from './random-stream.ts'
import { JOB_NAMES, makeJob } from './make-job.ts'
import { Violation } from './trace.ts'
import type { World } from './world.ts'

export const CALLER: RequestCaller = {
  by: 'system',
  grants: MANAGEMENT_GRANTS,
  accessorId: '',
  name: 'simulation',
  type: 'management',
  expiresMs: undefined,
}
const namespace = 'default'
/** Prefix of jobs that only their own clients modify. */
export const REGISTER_PREFIX = 'register-'

interface OperationCall {
  readonly context: WorkloadContext
  readonly random: RandomStream
  readonly world: World
}

interface OperationResult {
  readonly index: number
}

type OperationOutcome = Promise<Result<OperationResult, Refusal> | undefined> | undefined
type Operation = (call: OperationCall) => OperationOutcome

/** User operations with their routes and weights. */
const OPERATIONS: readonly (readonly [number, keyof typeof v1Routes, Operation])[] = [
  [16, 'registerJob', registerRandomJob],
  [5, 'scaleJob', scaleRandomJob],
  [3, 'stopJob', stopRandomJob],
  [3, 'dispatchJob', dispatchRandomJob],
  [3, 'revertJob', revertRandomJob],
  [2, 'evaluateJob', evaluateRandomJob],
  [1, 'forcePeriodicJob', forcePeriodic],
  [4, 'drainNode', drainRandomNode],
  [2, 'drainNode', endRandomDrain],
  [2, 'setNodeEligibility', setRandomEligibility],
  [4, 'promoteDeployment', promoteRandomDeployment],
  [2, 'pauseDeployment', pauseRandomDeployment],
  [3, 'failDeployment', failRandomDeployment],
  [1, 'setDeploymentHealth', setRandomHealth],
  [2, 'stopAllocation', stopRandomAllocation],
  [2, 'collectGarbage', collectGarbage],
  [1, 'writeSchedulerConfiguration', changeSettings],
  [1, 'purgeNode', purgeRandomNode],
]
const TOTAL_WEIGHT = OPERATIONS.reduce((sum, [weight]) => sum + weight, 0)

/** Runs a random user operation. Its acknowledged result must be visible to everybody. */
export function runRandomOperation(world: World, random: RandomStream): void {
  const { leader } = world
  if (leader === undefined) return
  let draw = random.next() * TOTAL_WEIGHT
  const chosen = OPERATIONS.find(([weight]) => (draw -= weight) < 0)
  const [, name, operation] = chosen ?? ([0, 'registerJob', registerRandomJob] as const)
  const rejection = findRejection(leader.context, name)
  if (rejection !== undefined) return world.trace.log(`${name}: rejected, ${rejection}`)
  const outcome = tryOperation(() => operation({ context: leader.context, random, world }))
  if (outcome === undefined) return
  void outcome.then(
    (result) => {
      if (result !== undefined && !leader.isDead) checkAcknowledged(world, name, result)
      return undefined
    },
    (thrown: unknown) => {
      // The storage failed; the client does not know the outcome.
      if (thrown instanceof Fault) return world.trace.log(`${name}: ${thrown.kind}`)
      world.reportViolation(new Violation('use cases have no bugs', `${name}: ${stackOf(thrown)}`))
    },
  )
}

/** Why the pipeline rejects a request before its use case; undefined if it does not. */
export function findRejection(
  { capacity: { shortage } }: WorkloadContext,
  id: keyof typeof v1Routes,
): string | undefined {
  return mayGrowState(handlingOf(v1Routes[id]), {}) ? shortage : undefined
}

function checkAcknowledged(
  world: World,
  name: string,
  result: Result<OperationResult, Refusal>,
): void {
  if (!result.ok) world.trace.log(`${name}: refused, ${result.error.message}`)
  else if (result.value.index > world.expectedState.index)
    world.reportViolation(
      new Violation(
        'nothing is acknowledged before it is durable',
        `${name} at ${result.value.index}, durable up to ${world.expectedState.index}`,
      ),
    )
}

function tryOperation(work: () => OperationOutcome): OperationOutcome {
  try {
    return work()
  } catch (thrown) {
    return Promise.reject(thrown instanceof Error ? thrown : new Error(String(thrown)))
  }
}

function stackOf(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}

/**
 * A single tenant whose work is never interrupted, because real time must not affect the result.
 */
export const SIMULATED_ORIGIN = {
  tenant: 'simulation',
  nextTurn: () => Promise.resolve(),
  monotonicMs: () => 0,
}

function registerRandomJob({ context, random, world }: OperationCall): OperationOutcome {
  const id = random.pick(JOB_NAMES) ?? ''
  const Job = makeJob(random, id)
  world.trace.log(`register ${id}`)
  const body = { Job, PreserveCounts: random.chance(0.2) }
  const request = {
    body,
    pathJobId: undefined,
    queryNamespace: namespace,
    queryRegion: '',
    origin: SIMULATED_ORIGIN,
  }
  return registerJob(context, CALLER, request)
}

function pickJob({ context, random }: OperationCall, kind = ''): string | undefined {
  const ids = [...context.store.tables.jobs.rows()].map(({ ID }) => ID)
  // Registers belong to the clients of `cluster/register-clients.ts`.
  const unreserved = ids.filter((id) => !id.startsWith(REGISTER_PREFIX))
  return random.pick(unreserved.filter((id) => id.startsWith(kind)))
}

function scaleRandomJob(call: OperationCall): OperationOutcome {
  const jobId = pickJob(call)
  if (jobId === undefined) return undefined
  call.world.trace.log(`scale ${jobId}`)
  const Count = call.random.between(0, 7)
  const body = { Count, Target: { Group: 'a' }, Message: 'scaled' }
  return scaleJob(call.context, CALLER, { namespace, jobId, body })
}

function stopRandomJob(call: OperationCall): OperationOutcome {
  const jobId = pickJob(call)
  if (jobId === undefined) return undefined
  const isPurge = call.random.chance(0.4)
  const noShutdownDelay = call.random.chance(0.2)
  call.world.trace.log(`stop ${jobId}${isPurge ? ', purge' : ''}`)
  const request = { namespace, jobId, purge: isPurge, evalPriority: 0, noShutdownDelay }
  return stopJob(call.context, CALLER, request)
}

function dispatchRandomJob(call: OperationCall): OperationOutcome {
  const jobId = pickJob(call, 'parameterized-1')
  if (jobId === undefined) return undefined
  const idempotencyToken = call.random.chance(0.3) ? String(call.random.between(1, 3)) : ''
  call.world.trace.log(`dispatch ${jobId} ${idempotencyToken}`)
  return dispatchJob(call.context, CALLER, { namespace, jobId, body: {}, idempotencyToken })
}

function revertRandomJob(call: OperationCall): OperationOutcome {
  const jobId = pickJob(call)
  if (jobId === undefined) return undefined
  const JobVersion = call.random.between(0, 5)
  call.world.trace.log(`revert ${jobId} to ${JobVersion}`)
  const body = { JobID: jobId, JobVersion }
  return revertJob(call.context, CALLER, { namespace, jobId, body })
}

function evaluateRandomJob(call: OperationCall): OperationOutcome {
  const jobId = pickJob(call)
  if (jobId === undefined) return undefined
  const ForceReschedule = call.random.chance(0.5)
  call.world.trace.log(`evaluate ${jobId}${ForceReschedule ? ', force' : ''}`)
  const body = { JobID: jobId, EvalOptions: { ForceReschedule } }
  return evaluateJob(call.context, CALLER, { namespace, jobId, body })
}

function forcePeriodic(call: OperationCall): OperationOutcome {
  return forcePeriodicJob(call.context, CALLER, { namespace, jobId: 'periodic-1' })
}

function pickNode({ context, random }: OperationCall): string | undefined {
  return random.pick([...context.store.tables.nodes.keys()])
}

function drainRandomNode(call: OperationCall): OperationOutcome {
  const nodeId = pickNode(call)
  if (nodeId === undefined) return undefined
  const { random, context, world } = call
  const seconds = random.choose(-1, 0, 5, 20, 60)
  world.trace.log(`drain ${nodeId} ${seconds} s`)
  const DrainSpec = {
    Deadline: nsFromMs(seconds * 1_000),
    IgnoreSystemJobs: random.chance(0.3),
  }
  return drainNode(context, CALLER, { nodeId, body: { DrainSpec } })
}

function endRandomDrain(call: OperationCall): OperationOutcome {
  const nodeId = pickNode(call)
  if (nodeId === undefined) return undefined
  call.world.trace.log(`end drain of ${nodeId}`)
  const body = { DrainSpec: null, MarkEligible: call.random.chance(0.7) }
  return drainNode(call.context, CALLER, { nodeId, body })
}

function setRandomEligibility(call: OperationCall): OperationOutcome {
  const nodeId = pickNode(call)
  if (nodeId === undefined) return undefined
  const value = call.random.chance(0.7) ? 'eligible' : 'ineligible'
  call.world.trace.log(`${nodeId} becomes ${value}`)
  return setEligibility(call.context, CALLER, nodeId, value)
}

function pickDeployment({ context, random }: OperationCall) {
  return random.pick([...context.store.tables.deployments.rows()].filter(isActiveDeployment))
}

function promoteRandomDeployment(call: OperationCall): OperationOutcome {
  const id = pickDeployment(call)?.ID
  if (id === undefined) return undefined
  call.world.trace.log(`promote ${id}`)
  const body = { DeploymentID: id, All: true }
  return promoteDeployment(call.context, CALLER, { id, body })
}

function pauseRandomDeployment(call: OperationCall): OperationOutcome {
  const id = pickDeployment(call)?.ID
  if (id === undefined) return undefined
  const Pause = call.random.chance(0.5)
  call.world.trace.log(`${Pause ? 'pause' : 'resume'} ${id}`)
  return setPaused(call.context, CALLER, { id, body: { DeploymentID: id, Pause } })
}

function failRandomDeployment(call: OperationCall): OperationOutcome {
  const id = pickDeployment(call)?.ID
  if (id === undefined) return undefined
  call.world.trace.log(`fail ${id}`)
  return failDeployment(call.context, CALLER, id)
}

function setRandomHealth(call: OperationCall): OperationOutcome {
  const id = pickDeployment(call)?.ID
  if (id === undefined) return undefined
  const rows = call.context.store.tables.allocations.rowsByIndex('deployment', id)
  const row = call.random.pick(rows)
  if (row === undefined) return undefined
  const isHealthy = call.random.chance(0.7)
  call.world.trace.log(`${row.Name} is ${isHealthy ? 'well' : 'not well'} by word`)
  const body = {
    DeploymentID: id,
    [isHealthy ? 'HealthyAllocationIDs' : 'UnhealthyAllocationIDs']: [row.ID],
  }
  return setAllocationHealth(call.context, CALLER, { id, body })
}

function stopRandomAllocation(call: OperationCall): OperationOutcome {
  const { allocations } = call.context.store.tables
  const allocId = call.random.pick([...allocations.keys()])
  if (allocId === undefined) return undefined
  call.world.trace.log(`stop allocation ${allocId}`)
  const request = { allocId, noShutdownDelay: false, reschedule: call.random.chance(0.3) }
  return stopAllocation(call.context, CALLER, request)
}

async function collectGarbage({ context, world }: OperationCall): Promise<undefined> {
  world.trace.log('collect garbage')
  await forceGarbageCollection(context, CALLER)
  return undefined
}

function changeSettings({ context, random, world }: OperationCall): OperationOutcome {
  world.trace.log('change the settings')
  const isPreemptionEnabled = random.chance(0.5)
  const request = {
    ...DEFAULT_SCHEDULER_CONFIGURATION,
    SchedulerAlgorithm: random.choose('binpack', 'spread'),
    PauseEvalBroker: random.chance(0.2),
    PreemptionConfig: {
      SystemSchedulerEnabled: random.chance(0.5),
      SysBatchSchedulerEnabled: isPreemptionEnabled,
      BatchSchedulerEnabled: isPreemptionEnabled,
      ServiceSchedulerEnabled: isPreemptionEnabled,
    },
  }
  return writeSchedulerConfiguration(context, CALLER, request, undefined)
}

function purgeRandomNode(call: OperationCall): OperationOutcome {
  const down = [...call.context.store.tables.nodes.rows()].filter(({ Status }) => Status === 'down')
  const nodeId = call.random.pick(down)?.ID
  if (nodeId === undefined) return undefined
  call.world.trace.log(`purge ${nodeId}`)
  return purgeNode(call.context, CALLER, nodeId)
}
