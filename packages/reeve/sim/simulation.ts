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
import { strike } from './faults.ts'
import { mayHaveGivenUp } from './invariants/service-counts.ts'
import type { Leader } from './leader.ts'
import { CALLER, operate } from './operations.ts'
import { checkSettled } from './settled.ts'
import type { Serving } from './serving.ts'
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
  readonly serve?: (world: World) => Serving
  /** Only clock faults are injected. */
  readonly isAboutClocks?: boolean
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

const TAIL_LINES = 60
const STEP_MS_MAX = 4_000
/** Longer than any delay of a job, node or deployment in this world. */
const QUIET_MS = 150_000
const SETTLE_MS_MAX = 3_600_000
/** Maximum number of leader changes during one repair. */
const ASKED_MAX = 20

/** Runs one world from its seed to its end. */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const world = new World({ serve: (one) => new SingleServer(one), ...options })
  await world.serving.open()
  await world.clock.advance(2_000, world.isOver)
  await live(world, options.steps)
  await heal(world)
  await settle(world)
  await judge(world)
  return {
    seed: options.seed,
    violation: world.violation,
    tail: world.violation === undefined ? [] : world.trace.tail(TAIL_LINES),
    commitHash: world.commitHash,
    commits: world.model.index,
    crashes: world.serving.crashes,
    faults: world.faults,
    allocations: world.model.allocations.byKey.size,
    failedDeployments: world.model.failedDeployments,
    virtualMs: world.clock.elapsedMs,
  }
}

/** Runs user operations and injects faults. */
async function live(world: World, steps: number): Promise<void> {
  const operations = world.draws('operations')
  const faults = world.draws('faults')
  const readers = world.draws('readers')
  // Some worlds have no injected faults, so that spontaneous errors are visible.
  const faultChance = world.isAboutClocks ? 0.5 : faults.choose(0, 0.1, 0.3, 0.5)
  for (let step = 0; step < steps && !world.isOver(); step++) {
    operate(world, operations)
    if (faults.chance(faultChance)) strike(world, faults)
    const { leader } = world
    if (leader !== undefined && readers.chance(0.1))
      world.reader.reopen(leader.hub, () => leader.store.log.firstIndex)
    const pauseMs = operations.chance(0.3) ? 0 : operations.between(0, STEP_MS_MAX)
    await world.clock.advance(pauseMs, world.isOver)
  }
}

/** Ends all faults and restores everything. */
async function heal(world: World): Promise<void> {
  world.trace.say('everything is mended')
  world.calm()
  for (const node of world.nodes.values()) {
    world.network.join(node.id)
    node.powerOn()
    node.startAgent()
    node.setDriverHealthy(true)
    node.setClock(0)
  }
  await byLeader(world, ({ context }) =>
    writeSchedulerConfiguration(context, CALLER, DEFAULT_SCHEDULER_CONFIGURATION, undefined),
  )
  for (const { ID } of [...world.model.deployments.byKey.values()].filter(isActiveDeployment))
    await byLeader(world, ({ context }) =>
      setPaused(context, CALLER, { id: ID, body: { DeploymentID: ID, Pause: false } }),
    )
  // The nodes failed because of injected faults, not because of a job.
  for (const { ID, Namespace, Quarantine } of world.model.jobs.byKey.values())
    if (Quarantine !== undefined)
      await byLeader(world, ({ context }) =>
        releaseJob(context, CALLER, { namespace: Namespace, jobId: ID }),
      )
  // Periodic jobs would run forever.
  for (const { ID, Namespace, Periodic } of world.model.jobs.byKey.values())
    if (Periodic !== null)
      await byLeader(world, ({ context }) =>
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
async function byLeader(world: World, work: (leader: Leader) => Promise<unknown>): Promise<void> {
  for (let round = 0; round < ASKED_MAX && !world.isOver(); round++) {
    await untilLed(world)
    const { leader } = world
    if (leader === undefined || (await acknowledged(world, work(leader)))) return
  }
}

/** Advances time until there is a leader with working storage. */
async function untilLed(world: World): Promise<void> {
  for (let seconds = 0; seconds < 60 && !world.isOver(); seconds++) {
    await world.clock.advance(1_000, world.isOver)
    if (world.leader !== undefined && world.leader.store.fault === undefined) return
  }
  world.blame(new Violation('a leader comes back', 'nobody leads after a minute'))
}

/** Advances time until the work is done. Returns false if the leader could not complete it. */
async function acknowledged(world: World, work: Promise<unknown>): Promise<boolean> {
  const state: { outcome: 'open' | 'done' | 'failed' } = { outcome: 'open' }
  void work.then(
    () => (state.outcome = 'done'),
    (thrown: unknown) => {
      if (!(thrown instanceof Fault)) throw thrown
      state.outcome = 'failed'
    },
  )
  for (let round = 0; round < 1_000 && state.outcome === 'open' && !world.isOver(); round++)
    await world.clock.advance(10, world.isOver)
  return state.outcome === 'done'
}

async function settle(world: World): Promise<void> {
  const endMs = world.clock.elapsedMs + SETTLE_MS_MAX
  while (!world.isOver() && world.quietMs < QUIET_MS) {
    await world.clock.advance(5_000, world.isOver)
    if (world.clock.elapsedMs > endMs)
      world.blame(new Violation('the cluster settles', 'it still changes after an hour'))
  }
}

async function judge(world: World): Promise<void> {
  const { leader } = world
  if (world.isOver() || leader === undefined) return
  world.guard(() => {
    world.model.compare(leader.store)
    world.reader.check(world.model.index)
    checkSettled(world)
  })
  if (world.isOver()) return
  await checkNothingToDo(world)
  await world.serving.judge()
  await world.serving.crash('the end')
  await untilLed(world)
}

/**
 * Invariant: the settled state is the desired state. Evaluating every job again changes nothing.
 */
async function checkNothingToDo(world: World): Promise<void> {
  const { leader, model } = world
  if (leader === undefined) return
  const before = wishes(world)
  const jobs = [...model.jobs.byKey.values()]
  for (const job of jobs) {
    // A sysbatch job runs only on nodes that existed at registration.
    if (isParent(job) || job.Stop || job.Type === 'sysbatch') continue
    // Allocations that failed permanently and were garbage-collected would be recreated.
    if (job.TaskGroups.some((group) => mayHaveGivenUp(model, job, group))) continue
    const request = { namespace: job.Namespace, jobId: job.ID, body: undefined }
    await acknowledged(world, evaluateJob(leader.context, CALLER, request))
  }
  await world.clock.advance(1_000, world.isOver)
  const after = wishes(world)
  for (const [id, wish] of after)
    if (before.get(id) !== wish)
      world.blame(
        new Violation(
          'what has settled is what is wanted',
          `${wish} (${before.get(id) ?? 'was not there'}), ${id}`,
        ),
      )
}

function wishes({ model }: World): ReadonlyMap<string, string> {
  return new Map(
    [...model.allocations.byKey.values()].map((row) => [
      row.ID,
      `${row.Name} ${row.DesiredStatus} version ${row.JobVersion} on ${row.NodeName}`,
    ]),
  )
}
