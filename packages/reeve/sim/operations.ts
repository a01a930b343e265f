import { handlingOf, mayGrowState, v1Routes } from '@reeve/contract'
import { MANAGEMENT } from '../src/acl/index.ts'
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
  forceCollection,
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
import type { Draws } from './draws.ts'
import { JOB_NAMES, makeJob } from './make-job.ts'
import { Violation } from './trace.ts'
import type { World } from './world.ts'

export const CALLER: RequestCaller = {
  by: 'system',
  grants: MANAGEMENT,
  accessorId: '',
  name: 'simulation',
  type: 'management',
  expiresMs: undefined,
}
const namespace = 'default'
/** Prefix of jobs that only their own clients modify. */
export const REGISTER_PREFIX = 'register-'

interface Call {
  readonly context: WorkloadContext
  readonly draws: Draws
  readonly world: World
}

interface Answer {
  readonly index: number
}

type Outcome = Promise<Result<Answer, Refusal> | undefined> | undefined
type Operation = (call: Call) => Outcome

/** User operations with their routes and weights. */
const OPERATIONS: readonly (readonly [number, keyof typeof v1Routes, Operation])[] = [
  [16, 'registerJob', register],
  [5, 'scaleJob', scale],
  [3, 'stopJob', stop],
  [3, 'dispatchJob', dispatch],
  [3, 'revertJob', revert],
  [2, 'evaluateJob', evaluate],
  [1, 'forcePeriodicJob', forcePeriodic],
  [4, 'drainNode', drain],
  [2, 'drainNode', endDrain],
  [2, 'setNodeEligibility', eligibility],
  [4, 'promoteDeployment', promote],
  [2, 'pauseDeployment', pause],
  [3, 'failDeployment', fail],
  [1, 'setDeploymentHealth', setHealth],
  [2, 'stopAllocation', stopOne],
  [2, 'collectGarbage', collect],
  [1, 'writeSchedulerConfiguration', settings],
  [1, 'purgeNode', purge],
]
const WEIGHT = OPERATIONS.reduce((sum, [weight]) => sum + weight, 0)

/** Runs a random user operation. Its acknowledged result must be visible to everybody. */
export function operate(world: World, draws: Draws): void {
  const { leader } = world
  if (leader === undefined) return
  let at = draws.next() * WEIGHT
  const drawn = OPERATIONS.find(([weight]) => (at -= weight) < 0)
  const [, name, operation] = drawn ?? ([0, 'registerJob', register] as const)
  const rejection = findRejection(leader.context, name)
  if (rejection !== undefined) return world.trace.say(`${name}: rejected, ${rejection}`)
  const outcome = attempt(() => operation({ context: leader.context, draws, world }))
  if (outcome === undefined) return
  void outcome.then(
    (answer) => {
      if (answer !== undefined && !leader.isDead) check(world, name, answer)
      return undefined
    },
    (thrown: unknown) => {
      // The storage failed; the client does not know the outcome.
      if (thrown instanceof Fault) return world.trace.say(`${name}: ${thrown.kind}`)
      world.blame(new Violation('use cases make no mistakes', `${name}: ${stackOf(thrown)}`))
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

function check(world: World, name: string, answer: Result<Answer, Refusal>): void {
  if (!answer.ok) world.trace.say(`${name}: refused, ${answer.error.message}`)
  else if (answer.value.index > world.model.index)
    world.blame(
      new Violation(
        'nothing is acknowledged before it is durable',
        `${name} at ${answer.value.index}, told up to ${world.model.index}`,
      ),
    )
}

function attempt(work: () => Outcome): Outcome {
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

function register({ context, draws, world }: Call): Outcome {
  const id = draws.pick(JOB_NAMES) ?? ''
  const Job = makeJob(draws, id)
  world.trace.say(`register ${id}`)
  const body = { Job, PreserveCounts: draws.chance(0.2) }
  const request = {
    body,
    pathJobId: undefined,
    queryNamespace: namespace,
    queryRegion: '',
    origin: SIMULATED_ORIGIN,
  }
  return registerJob(context, CALLER, request)
}

function pickJob({ context, draws }: Call, kind = ''): string | undefined {
  const ids = [...context.store.tables.jobs.rows()].map(({ ID }) => ID)
  // Registers belong to the clients of `cluster/register-clients.ts`.
  const own = ids.filter((id) => !id.startsWith(REGISTER_PREFIX))
  return draws.pick(own.filter((id) => id.startsWith(kind)))
}

function scale(call: Call): Outcome {
  const jobId = pickJob(call)
  if (jobId === undefined) return undefined
  call.world.trace.say(`scale ${jobId}`)
  const Count = call.draws.between(0, 7)
  const body = { Count, Target: { Group: 'a' }, Message: 'scaled' }
  return scaleJob(call.context, CALLER, { namespace, jobId, body })
}

function stop(call: Call): Outcome {
  const jobId = pickJob(call)
  if (jobId === undefined) return undefined
  const isPurge = call.draws.chance(0.4)
  const noShutdownDelay = call.draws.chance(0.2)
  call.world.trace.say(`stop ${jobId}${isPurge ? ', purge' : ''}`)
  const request = { namespace, jobId, purge: isPurge, evalPriority: 0, noShutdownDelay }
  return stopJob(call.context, CALLER, request)
}

function dispatch(call: Call): Outcome {
  const jobId = pickJob(call, 'parameterized-1')
  if (jobId === undefined) return undefined
  const idempotencyToken = call.draws.chance(0.3) ? String(call.draws.between(1, 3)) : ''
  call.world.trace.say(`dispatch ${jobId} ${idempotencyToken}`)
  return dispatchJob(call.context, CALLER, { namespace, jobId, body: {}, idempotencyToken })
}

function revert(call: Call): Outcome {
  const jobId = pickJob(call)
  if (jobId === undefined) return undefined
  const JobVersion = call.draws.between(0, 5)
  call.world.trace.say(`revert ${jobId} to ${JobVersion}`)
  const body = { JobID: jobId, JobVersion }
  return revertJob(call.context, CALLER, { namespace, jobId, body })
}

function evaluate(call: Call): Outcome {
  const jobId = pickJob(call)
  if (jobId === undefined) return undefined
  const ForceReschedule = call.draws.chance(0.5)
  call.world.trace.say(`evaluate ${jobId}${ForceReschedule ? ', force' : ''}`)
  const body = { JobID: jobId, EvalOptions: { ForceReschedule } }
  return evaluateJob(call.context, CALLER, { namespace, jobId, body })
}

function forcePeriodic(call: Call): Outcome {
  return forcePeriodicJob(call.context, CALLER, { namespace, jobId: 'periodic-1' })
}

function pickNode({ context, draws }: Call): string | undefined {
  return draws.pick([...context.store.tables.nodes.keys()])
}

function drain(call: Call): Outcome {
  const nodeId = pickNode(call)
  if (nodeId === undefined) return undefined
  const { draws, context, world } = call
  const seconds = draws.choose(-1, 0, 5, 20, 60)
  world.trace.say(`drain ${nodeId} ${seconds} s`)
  const DrainSpec = {
    Deadline: nsFromMs(seconds * 1_000),
    IgnoreSystemJobs: draws.chance(0.3),
  }
  return drainNode(context, CALLER, { nodeId, body: { DrainSpec } })
}

function endDrain(call: Call): Outcome {
  const nodeId = pickNode(call)
  if (nodeId === undefined) return undefined
  call.world.trace.say(`end drain of ${nodeId}`)
  const body = { DrainSpec: null, MarkEligible: call.draws.chance(0.7) }
  return drainNode(call.context, CALLER, { nodeId, body })
}

function eligibility(call: Call): Outcome {
  const nodeId = pickNode(call)
  if (nodeId === undefined) return undefined
  const wanted = call.draws.chance(0.7) ? 'eligible' : 'ineligible'
  call.world.trace.say(`${nodeId} becomes ${wanted}`)
  return setEligibility(call.context, CALLER, nodeId, wanted)
}

function pickDeployment({ context, draws }: Call) {
  return draws.pick([...context.store.tables.deployments.rows()].filter(isActiveDeployment))
}

function promote(call: Call): Outcome {
  const id = pickDeployment(call)?.ID
  if (id === undefined) return undefined
  call.world.trace.say(`promote ${id}`)
  const body = { DeploymentID: id, All: true }
  return promoteDeployment(call.context, CALLER, { id, body })
}

function pause(call: Call): Outcome {
  const id = pickDeployment(call)?.ID
  if (id === undefined) return undefined
  const Pause = call.draws.chance(0.5)
  call.world.trace.say(`${Pause ? 'pause' : 'resume'} ${id}`)
  return setPaused(call.context, CALLER, { id, body: { DeploymentID: id, Pause } })
}

function fail(call: Call): Outcome {
  const id = pickDeployment(call)?.ID
  if (id === undefined) return undefined
  call.world.trace.say(`fail ${id}`)
  return failDeployment(call.context, CALLER, id)
}

function setHealth(call: Call): Outcome {
  const id = pickDeployment(call)?.ID
  if (id === undefined) return undefined
  const rows = call.context.store.tables.allocations.rowsIn('deployment', id)
  const row = call.draws.pick(rows)
  if (row === undefined) return undefined
  const isWell = call.draws.chance(0.7)
  call.world.trace.say(`${row.Name} is ${isWell ? 'well' : 'not well'} by word`)
  const body = {
    DeploymentID: id,
    [isWell ? 'HealthyAllocationIDs' : 'UnhealthyAllocationIDs']: [row.ID],
  }
  return setAllocationHealth(call.context, CALLER, { id, body })
}

function stopOne(call: Call): Outcome {
  const { allocations } = call.context.store.tables
  const allocId = call.draws.pick([...allocations.keys()])
  if (allocId === undefined) return undefined
  call.world.trace.say(`stop allocation ${allocId}`)
  const request = { allocId, noShutdownDelay: false, reschedule: call.draws.chance(0.3) }
  return stopAllocation(call.context, CALLER, request)
}

async function collect({ context, world }: Call): Promise<undefined> {
  world.trace.say('collect garbage')
  await forceCollection(context, CALLER)
  return undefined
}

function settings({ context, draws, world }: Call): Outcome {
  world.trace.say('change the settings')
  const preempts = draws.chance(0.5)
  const request = {
    ...DEFAULT_SCHEDULER_CONFIGURATION,
    SchedulerAlgorithm: draws.choose('binpack', 'spread'),
    PauseEvalBroker: draws.chance(0.2),
    PreemptionConfig: {
      SystemSchedulerEnabled: draws.chance(0.5),
      SysBatchSchedulerEnabled: preempts,
      BatchSchedulerEnabled: preempts,
      ServiceSchedulerEnabled: preempts,
    },
  }
  return writeSchedulerConfiguration(context, CALLER, request, undefined)
}

function purge(call: Call): Outcome {
  const down = [...call.context.store.tables.nodes.rows()].filter(({ Status }) => Status === 'down')
  const nodeId = call.draws.pick(down)?.ID
  if (nodeId === undefined) return undefined
  call.world.trace.say(`purge ${nodeId}`)
  return purgeNode(call.context, CALLER, nodeId)
}
