import { isActiveDeployment, DEFAULT_SCHEDULER_CONFIGURATION } from '../src/model/index.ts'
import { isParent } from '../src/model/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import {
  evaluateJob,
  releaseJob,
  setPaused,
  stopJob,
  writeSchedulerConfiguration,
} from '../src/workload/index.ts'
import { ServerCluster } from './cluster/server-cluster.ts'
import { injectFault } from './faults.ts'
import { checkFinalState, mayHaveExhaustedReschedules } from './final-checks.ts'
import type { SimLeader } from './sim-leader.ts'
import { CALLER, runRandomOperation } from './operations.ts'
import { RandomStream } from './random-stream.ts'
import type { ServerBackend } from './server-backend.ts'
import { SingleServer } from './single-server.ts'
import { Violation } from './trace.ts'
import { World } from './world.ts'

export interface SimulationOptions {
  readonly seed: number
  /** Number of user operations and faults. */
  readonly steps: number
  readonly nodes: number
  readonly print?: ((line: string) => void) | undefined
  /** Creates the servers; default: one server. */
  readonly createBackend?: (world: World) => ServerBackend
  /** Only clock faults are injected. */
  readonly onlyClockFaults?: boolean
}

export interface SimulationResult {
  readonly seed: number
  readonly violation: Violation | undefined
  /** The last lines of the trace. */
  readonly tail: readonly string[]
  /** Hash of all durable commits: equal for equal seeds. */
  readonly commitHash: string
  readonly commits: number
  readonly crashes: number
  readonly faults: number
  readonly allocations: number
  readonly failedDeployments: number
  readonly virtualMs: number
}

const TRACE_TAIL_LINES = 60
const MAX_STEP_MS = 4_000
/** Longer than any delay of a job, node or deployment in this world. */
const QUIET_PERIOD_MS = 150_000
const MAX_SETTLE_MS = 3_600_000
/** Maximum number of leader changes during one repair. */
const MAX_ATTEMPTS = 20

/** Runs one world from its seed to its end. */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const world = new World({ createBackend: (one) => new SingleServer(one), ...options })
  await world.backend.open()
  await world.clock.advance(2_000, world.hasFailed)
  await runSteps(world, options.steps)
  await healFaults(world)
  await waitUntilQuiet(world)
  await checkAtEnd(world)
  return {
    seed: options.seed,
    violation: world.violation,
    tail: world.violation === undefined ? [] : world.trace.tail(TRACE_TAIL_LINES),
    commitHash: world.commitHash,
    commits: world.expectedState.index,
    crashes: world.backend.crashes,
    faults: world.faults,
    allocations: world.expectedState.allocations.byKey.size,
    failedDeployments: world.expectedState.failedDeployments,
    virtualMs: world.clock.elapsedMs,
  }
}

/** Runs user operations and injects faults. */
async function runSteps(world: World, steps: number): Promise<void> {
  const operations = world.randomStream('operations')
  const faults = world.randomStream('faults')
  const readers = world.randomStream('readers')
  // Some worlds have no injected faults, so that spontaneous errors are visible.
  const faultChance = world.onlyClockFaults ? 0.5 : faults.choose(0, 0.1, 0.3, 0.5)
  for (let step = 0; step < steps && !world.hasFailed(); step++) {
    runRandomOperation(world, operations)
    if (faults.chance(faultChance)) injectFault(world, faults)
    const { leader } = world
    if (leader !== undefined && readers.chance(0.1))
      world.reader.reopen(leader.hub, () => leader.store.log.firstIndex)
    const pauseMs = operations.chance(0.3) ? 0 : operations.between(0, MAX_STEP_MS)
    await world.clock.advance(pauseMs, world.hasFailed)
  }
}

/** Ends all faults and restores everything. */
async function healFaults(world: World): Promise<void> {
  world.trace.log('everything is mended')
  world.stopFaults()
  for (const node of world.nodes.values()) {
    world.network.heal(node.id)
    node.powerOn()
    node.startAgent()
    node.setDriverHealthy(true)
    node.setClock(0)
  }
  await runOnLeader(world, ({ context }) =>
    writeSchedulerConfiguration(context, CALLER, DEFAULT_SCHEDULER_CONFIGURATION, undefined),
  )
  for (const { ID } of [...world.expectedState.deployments.byKey.values()].filter(
    isActiveDeployment,
  ))
    await runOnLeader(world, ({ context }) =>
      setPaused(context, CALLER, { id: ID, body: { DeploymentID: ID, Pause: false } }),
    )
  // The nodes failed because of injected faults, not because of a job.
  for (const { ID, Namespace, Quarantine } of world.expectedState.jobs.byKey.values())
    if (Quarantine !== undefined)
      await runOnLeader(world, ({ context }) =>
        releaseJob(context, CALLER, { namespace: Namespace, jobId: ID }),
      )
  // Periodic jobs would run forever.
  for (const { ID, Namespace, Periodic } of world.expectedState.jobs.byKey.values())
    if (Periodic !== null)
      await runOnLeader(world, ({ context }) =>
        stopJob(context, CALLER, {
          namespace: Namespace,
          jobId: ID,
          purge: false,
          evalPriority: 0,
          noShutdownDelay: false,
        }),
      )
}

/** Runs work on the leader, and again on the next one after a change of leader. */
async function runOnLeader(
  world: World,
  work: (leader: SimLeader) => Promise<unknown>,
): Promise<void> {
  for (let round = 0; round < MAX_ATTEMPTS && !world.hasFailed(); round++) {
    await waitForLeader(world)
    const { leader } = world
    if (leader === undefined || (await waitForResult(world, work(leader)))) return
  }
}

/** Advances time until there is a leader with working storage. */
async function waitForLeader(world: World): Promise<void> {
  for (let seconds = 0; seconds < 60 && !world.hasFailed(); seconds++) {
    await world.clock.advance(1_000, world.hasFailed)
    if (world.leader !== undefined && world.leader.store.fault === undefined) return
  }
  world.reportViolation(new Violation('a leader is elected', 'no server leads after a minute'))
}

/** Advances time until the work is done. Returns false if the leader could not complete it. */
async function waitForResult(world: World, work: Promise<unknown>): Promise<boolean> {
  const state: { outcome: 'open' | 'done' | 'failed' } = { outcome: 'open' }
  void work.then(
    () => (state.outcome = 'done'),
    (thrown: unknown) => {
      if (!(thrown instanceof Fault)) throw thrown
      state.outcome = 'failed'
    },
  )
  for (let round = 0; round < 1_000 && state.outcome === 'open' && !world.hasFailed(); round++)
    await world.clock.advance(10, world.hasFailed)
  return state.outcome === 'done'
}

async function waitUntilQuiet(world: World): Promise<void> {
  const endMs = world.clock.elapsedMs + MAX_SETTLE_MS
  while (!world.hasFailed() && world.quietMs < QUIET_PERIOD_MS) {
    await world.clock.advance(5_000, world.hasFailed)
    if (world.clock.elapsedMs > endMs)
      world.reportViolation(new Violation('the cluster settles', 'it still changes after an hour'))
  }
}

async function checkAtEnd(world: World): Promise<void> {
  const { leader } = world
  if (world.hasFailed() || leader === undefined) return
  world.catchViolation(() => {
    world.expectedState.compare(leader.store)
    world.reader.check(world.expectedState.index)
    checkFinalState(world)
  })
  if (world.hasFailed()) return
  await checkNoChangesOnEvaluation(world)
  await world.backend.finalCheck()
  await world.backend.crash('the end')
  await waitForLeader(world)
}

/**
 * Invariant: the settled state is the desired state. Evaluating every job again changes nothing.
 */
async function checkNoChangesOnEvaluation(world: World): Promise<void> {
  const { leader, expectedState } = world
  if (leader === undefined) return
  const before = desiredStates(world)
  const jobs = [...expectedState.jobs.byKey.values()]
  for (const job of jobs) {
    // A sysbatch job runs only on nodes that existed at registration.
    if (isParent(job) || job.Stop || job.Type === 'sysbatch') continue
    // Allocations that failed permanently and were garbage-collected would be recreated.
    if (job.TaskGroups.some((group) => mayHaveExhaustedReschedules(expectedState, job, group)))
      continue
    const request = { namespace: job.Namespace, jobId: job.ID, body: undefined }
    await waitForResult(world, evaluateJob(leader.context, CALLER, request))
  }
  await world.clock.advance(1_000, world.hasFailed)
  const after = desiredStates(world)
  for (const [id, desired] of after)
    if (before.get(id) !== desired)
      world.reportViolation(
        new Violation(
          're-evaluation changes nothing',
          `${desired} (${before.get(id) ?? 'was not there'}), ${id}`,
        ),
      )
}

function desiredStates({ expectedState }: World): ReadonlyMap<string, string> {
  return new Map(
    [...expectedState.allocations.byKey.values()].map((row) => [
      row.ID,
      `${row.Name} ${row.DesiredStatus} version ${row.JobVersion} on ${row.NodeName}`,
    ]),
  )
}

/** Options of a seed: most worlds are small and short, a few have hundreds of nodes. */
export function defaultOptionsOf(seed: number): SimulationOptions {
  const random = new RandomStream(seed, 'size')
  if (seed % 100 === 50) return { seed, nodes: random.between(100, 300), steps: 60 }
  return { seed, nodes: random.between(2, 12), steps: random.between(10, 80) }
}

/** Small worlds for the test suite, which runs hundreds of them. */
export function smallOptionsOf(seed: number): SimulationOptions {
  const random = new RandomStream(seed, 'size')
  return { seed, nodes: random.between(2, 6), steps: random.between(10, 40) }
}

/** Worlds with jumping clocks, alternating between one server and three. */
export function clockOptionsOf(seed: number): SimulationOptions {
  const options = seed % 2 === 0 ? smallOptionsOf(seed) : clusterOptionsOf(seed)
  return { ...options, onlyClockFaults: true }
}

/** Three servers that share a database. */
export function clusterOptionsOf(seed: number): SimulationOptions {
  const random = new RandomStream(seed, 'size')
  const [nodes, steps] = [random.between(2, 5), random.between(10, 40)]
  return { seed, nodes, steps, createBackend: (world) => new ServerCluster(world) }
}
