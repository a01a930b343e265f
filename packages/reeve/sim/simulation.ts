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
  /** How many times somebody does something. */
  readonly steps: number
  readonly nodes: number
  readonly print?: ((line: string) => void) | undefined
  /** Who serves the world; one server by default. */
  readonly serve?: (world: World) => Serving
  /** Nothing goes wrong but clocks. */
  readonly isAboutClocks?: boolean
}

export interface SimulationResult {
  readonly seed: number
  readonly violation: Violation | undefined
  /** The last lines of what happened. */
  readonly tail: readonly string[]
  /** Of every commit that was ever durable: equal seeds have equal ones. */
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
/** Longer than any delay of a job, a node or a deployment of this world. */
const QUIET_MS = 150_000
const SETTLE_MS_MAX = 3_600_000
/** How often a leader may go while things are mended. */
const ASKED_MAX = 20

/** Lives one world from its seed to its end. */
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

/** People ask for things and things go wrong. */
async function live(world: World, steps: number): Promise<void> {
  const operations = world.draws('operations')
  const faults = world.draws('faults')
  const readers = world.draws('readers')
  // Some worlds are calm, so that what goes wrong by itself is seen by itself.
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

/** Everything that was broken is mended. */
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
  // Nodes went away for reasons that no job has.
  for (const { ID, Namespace, Quarantine } of world.model.jobs.byKey.values())
    if (Quarantine !== undefined)
      await byLeader(world, ({ context }) =>
        releaseJob(context, CALLER, { namespace: Namespace, jobId: ID }),
      )
  // It would go on for ever.
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

/** Asks whoever leads, and whoever leads then when that one does not any more. */
async function byLeader(world: World, work: (leader: Leader) => Promise<unknown>): Promise<void> {
  for (let round = 0; round < ASKED_MAX && !world.isOver(); round++) {
    await untilLed(world)
    const { leader } = world
    if (leader === undefined || (await acknowledged(world, work(leader)))) return
  }
}

/** Lets time pass until somebody leads whose storage works. */
async function untilLed(world: World): Promise<void> {
  for (let seconds = 0; seconds < 60 && !world.isOver(); seconds++) {
    await world.clock.advance(1_000, world.isOver)
    if (world.leader !== undefined && world.leader.store.fault === undefined) return
  }
  world.blame(new Violation('a leader comes back', 'nobody leads after a minute'))
}

/** Waits for an answer while time passes. False when the leader could not say. */
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

/** What has settled is what is wanted: to ask every job's scheduler again changes nothing. */
async function checkNothingToDo(world: World): Promise<void> {
  const { leader, model } = world
  if (leader === undefined) return
  const before = wishes(world)
  const jobs = [...model.jobs.byKey.values()]
  for (const job of jobs) {
    // A sysbatch job runs where it could when it was registered, not on nodes that came later.
    if (isParent(job) || job.Stop || job.Type === 'sysbatch') continue
    // What failed for good and was collected since is begun anew.
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
