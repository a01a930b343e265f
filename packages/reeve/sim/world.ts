import { createHash } from 'node:crypto'
import type { Assignment } from '../src/agent/assignment.ts'
import { joinRowJson, type Commit } from '../src/state/index.ts'
import { RandomStream, SequentialIds } from './random-stream.ts'
import { CountCheck } from './invariants/counts.ts'
import { ExpectedState } from './invariants/expected-state.ts'
import { checkCapacity } from './invariants/capacity.ts'
import { checkTransitions, UniqueNameCheck } from './invariants/transitions.ts'
import type { SimLeader, LeaderParts } from './sim-leader.ts'
import { makeMachine } from './make-node.ts'
import { Network, type NetworkConditions } from './network.ts'
import { SimNode, type TaskPlan } from './sim-node.ts'
import type { ServerBackend } from './server-backend.ts'
import { StreamReader } from './stream-reader.ts'
import { Trace, Violation } from './trace.ts'
import { VirtualClock } from './virtual-clock.ts'

export interface WorldOptions {
  readonly seed: number
  readonly nodes: number
  readonly print?: ((line: string) => void) | undefined
  /** Creates the servers. */
  readonly createBackend: (world: World) => ServerBackend
  /** Only clock faults are injected. */
  readonly onlyClockFaults?: boolean | undefined
}

const MAX_CLOCK_SKEW_MS = 3_000
/** Longer than the healthy deadline of every job of a world. */
const SLOW_START_MS = 25_000
/** A job that stops every machine on which it starts. No other scenario registers it. */
export const POISON_JOB = 'poison'

/**
 * A simulated cluster in one process: servers, storage, network, machines and time. Everything in
 * it is determined by the seed.
 */
export class World {
  readonly clock = new VirtualClock()
  readonly trace: Trace
  readonly expectedState = new ExpectedState()
  readonly reader: StreamReader
  readonly network: Network
  readonly nodes = new Map<string, SimNode>()
  readonly networkConditions: NetworkConditions = { delayMsMax: 10, lossChance: 0 }
  readonly backend: ServerBackend
  readonly initialNodeCount: number
  readonly onlyClockFaults: boolean
  /** Number of injected faults. */
  faults = 0
  readonly #seed: number
  readonly #hash = createHash('sha256')
  readonly #uniqueNames = new UniqueNameCheck()
  readonly #counts = new CountCheck()
  readonly #ids = new SequentialIds('1')
  readonly #nodeIds = new SequentialIds('2')
  readonly #random: RandomStream
  readonly #taskRandom: RandomStream
  readonly #machineRandom: RandomStream
  #violation: Violation | undefined
  #lastChangeMs = 0
  #areFaultsStopped = false
  #nodeCount = 0

  constructor({ seed, nodes, print, createBackend, onlyClockFaults = false }: WorldOptions) {
    this.#seed = seed
    this.onlyClockFaults = onlyClockFaults
    this.initialNodeCount = nodes
    this.trace = new Trace(() => this.clock.elapsedMs / 1_000, print)
    this.#random = this.randomStream('leader')
    this.#taskRandom = this.randomStream('tasks')
    this.#machineRandom = this.randomStream('machines')
    this.reader = new StreamReader(this.randomStream('reader'))
    this.network = new Network({
      clock: this.clock,
      random: this.randomStream('network'),
      conditions: this.networkConditions,
      accept: (nodeId) => this.backend.accept(nodeId),
    })
    this.backend = createBackend(this)
    for (let i = 0; i < nodes; i++) this.addNode()
  }

  /** A random stream for one purpose; equal for equal seeds. */
  randomStream(stream: string): RandomStream {
    return new RandomStream(this.#seed, stream)
  }

  /** The current leader, if any. */
  get leader(): SimLeader | undefined {
    return this.backend.leader
  }

  /** Options for every leader of this world. */
  get leaderParts(): LeaderParts {
    return {
      ids: this.#ids,
      random: this.#random,
      trace: (text) => this.trace.log(text),
      onSent: (text) => this.#checkSent(text),
      reportViolation: (violation) => this.reportViolation(violation),
      onBug: (text) => this.reportViolation(new Violation('loops have no bugs', text)),
    }
  }

  /** The first violation. */
  get violation(): Violation | undefined {
    return this.#violation
  }

  /** Hash of all commits in order: equal for equal worlds. */
  get commitHash(): string {
    return this.#hash.copy().digest('hex')
  }

  /** Time since the last change other than garbage collection. */
  get quietMs(): number {
    return this.clock.nowMs - this.#lastChangeMs
  }

  get hasFailed(): () => boolean {
    return () => this.#violation !== undefined
  }

  reportViolation(violation: Violation): void {
    if (this.#violation === undefined) this.trace.log(`VIOLATION ${violation.message}`)
    this.#violation ??= violation
  }

  /** Runs a check that may throw a violation. */
  catchViolation(work: () => void): void {
    try {
      work()
    } catch (thrown) {
      if (!(thrown instanceof Violation)) throw thrown
      this.reportViolation(thrown)
    }
  }

  addNode(): SimNode {
    const random = this.#machineRandom
    const id = this.#nodeIds.uuid()
    const node = new SimNode({
      id,
      machine: makeMachine(random, ++this.#nodeCount),
      secret: id.replace(/^0/, 'f'),
      virtualClock: this.clock,
      network: this.network,
      random: this.randomStream(`agent ${id}`),
      skewMs: random.chance(0.3) ? random.between(-MAX_CLOCK_SKEW_MS, MAX_CLOCK_SKEW_MS) : 0,
      planOf: (assignment) => this.#planOf(assignment),
      reportViolation: (violation) => this.reportViolation(violation),
      trace: (text) => this.trace.log(text),
    })
    this.nodes.set(id, node)
    node.powerOn()
    return node
  }

  /** Ends fault injection: tasks are healthy and finish. */
  stopFaults(): void {
    this.#areFaultsStopped = true
    this.networkConditions.delayMsMax = 3
    this.networkConditions.lossChance = 0
    this.backend.stopFaults()
  }

  /** A commit is durable on the disk or in the database. */
  onWritten(text: string): void {
    this.#hash.update(text)
  }

  /** Commits that are published from now on, in order. */
  onCommitted(commits: readonly Commit[]): void {
    for (const commit of commits)
      this.catchViolation(() => {
        if (this.#violation !== undefined) return
        this.reader.recordCommit(commit)
        this.trace.log(() => describeCommit(commit))
        const changes = this.expectedState.apply(commit)
        const hasChanges = [
          ...changes.allocations,
          ...changes.evaluations,
          ...changes.deployments,
          ...changes.nodes,
        ].some(({ after }) => after !== undefined)
        if (hasChanges) this.#lastChangeMs = this.clock.nowMs
        checkTransitions(this.expectedState, changes)
        checkCapacity(this.expectedState, changes)
        this.#uniqueNames.check(this.expectedState, changes)
        this.#counts.check(this.expectedState, changes)
        this.reader.rethrow()
      })
  }

  /** Invariant: nodes receive nothing that a crash could undo. */
  #checkSent(text: string): void {
    if (!text.startsWith('{"kind":"desired"')) return
    for (const [, index] of text.matchAll(/"AllocModifyIndex":(\d+)/g))
      if (Number(index) > this.expectedState.index)
        this.reportViolation(
          new Violation(
            'only durable commits are published',
            `a node received ${index}, durable up to ${this.expectedState.index}`,
          ),
        )
  }

  #planOf(assignment: Assignment | undefined): TaskPlan {
    const { ID: jobId = '', Type: type = '' } = assignment?.job ?? {}
    const random = this.#taskRandom
    const isBatch = type === 'batch' || type === 'sysbatch'
    const runMs = random.between(500, isBatch ? 30_000 : 60_000)
    const fails = random.chance(0.25)
    const startMs = random.between(0, 1_500)
    const killMs = random.between(0, 3_000)
    const startsInTime = random.chance(0.85)
    if (jobId === POISON_JOB)
      return { startMs, killMs, fails: false, runMs: undefined, stopsNode: true }
    if (this.#areFaultsStopped)
      return { startMs, killMs, fails: false, runMs: isBatch ? runMs : undefined }
    return {
      startMs: startsInTime ? startMs : SLOW_START_MS,
      killMs,
      fails,
      runMs: isBatch || fails ? runMs : undefined,
    }
  }
}

function describeCommit({ index, rows }: Commit): string {
  const parts = rows.map(({ table, key, header, text }) => {
    if (header === undefined) return `-${table} ${key}`
    return `${table} ${key}${rowSummary(table, joinRowJson(text))}`
  })
  return `#${index} ${parts.join(' | ')}`
}

const TRACED_FIELDS: Readonly<Record<string, readonly string[]>> = {
  allocations: ['Name', 'NodeName', 'DesiredStatus', 'ClientStatus', 'JobVersion'],
  deployments: ['JobID', 'JobVersion', 'Status'],
  evaluations: ['JobID', 'TriggeredBy', 'Status', 'WaitUntil'],
  jobs: ['Version', 'Status', 'Stop'],
  nodes: ['Name', 'Status', 'SchedulingEligibility', 'Drain'],
}

function rowSummary(table: string, body: string): string {
  const names = TRACED_FIELDS[table]
  if (names === undefined) return ''
  // Proof: the body was encoded from a row.
  const row = JSON.parse(body) as object
  return ` (${names.map((name) => String(Reflect.get(row, name))).join(' ')})`
}
