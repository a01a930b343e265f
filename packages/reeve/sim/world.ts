import { createHash } from 'node:crypto'
import type { Assignment } from '../src/agent/assignment.ts'
import { wholeText, type Commit } from '../src/state/index.ts'
import { Draws, NumberedIds } from './draws.ts'
import { CountCheck } from './invariants/counts.ts'
import { Model } from './invariants/model.ts'
import { checkRoom } from './invariants/room.ts'
import { checkRowMoves, NameCheck } from './invariants/rows.ts'
import type { Leader, LeaderParts } from './leader.ts'
import { makeMachine } from './make-node.ts'
import { Network, type NetworkTrouble } from './network.ts'
import { SimNode } from './sim-node.ts'
import type { Serving } from './serving.ts'
import type { TaskPlan } from './sim-driver.ts'
import { StreamReader } from './stream-reader.ts'
import { Trace, Violation } from './trace.ts'
import { VirtualClock } from './virtual-clock.ts'

export interface WorldOptions {
  readonly seed: number
  readonly nodes: number
  readonly print?: ((line: string) => void) | undefined
  /** Creates the servers. */
  readonly serve: (world: World) => Serving
  /** Only clock faults are injected. */
  readonly isAboutClocks?: boolean | undefined
}

const CLOCK_SKEW_MS_MAX = 3_000
/** Longer than the healthy deadline of every job of a world. */
const LATE_START_MS = 25_000
/** A job that stops every machine on which it starts. No other scenario registers it. */
export const POISON = 'poison'

/**
 * A simulated cluster in one process: servers, storage, network, machines and time. Everything in
 * it is determined by the seed.
 */
export class World {
  readonly clock = new VirtualClock()
  readonly trace: Trace
  readonly model = new Model()
  readonly reader: StreamReader
  readonly network: Network
  readonly nodes = new Map<string, SimNode>()
  readonly networkTrouble: NetworkTrouble = { delayMsMax: 10, lossChance: 0 }
  readonly serving: Serving
  readonly nodesAtFirst: number
  readonly isAboutClocks: boolean
  /** Number of injected faults. */
  faults = 0
  readonly #seed: number
  readonly #hash = createHash('sha256')
  readonly #names = new NameCheck()
  readonly #counts = new CountCheck()
  readonly #ids = new NumberedIds('1')
  readonly #nodeIds = new NumberedIds('2')
  readonly #random: Draws
  readonly #taskDraws: Draws
  readonly #machineDraws: Draws
  #violation: Violation | undefined
  #changedMs = 0
  #isCalm = false
  #nodesMade = 0

  constructor({ seed, nodes, print, serve, isAboutClocks = false }: WorldOptions) {
    this.#seed = seed
    this.isAboutClocks = isAboutClocks
    this.nodesAtFirst = nodes
    this.trace = new Trace(() => this.clock.elapsedMs / 1_000, print)
    this.#random = this.draws('leader')
    this.#taskDraws = this.draws('tasks')
    this.#machineDraws = this.draws('machines')
    this.reader = new StreamReader(this.draws('reader'))
    this.network = new Network({
      clock: this.clock,
      draws: this.draws('network'),
      trouble: this.networkTrouble,
      accept: (nodeId) => this.serving.accept(nodeId),
    })
    this.serving = serve(this)
    for (let i = 0; i < nodes; i++) this.addNode()
  }

  /** A random stream for one purpose; equal for equal seeds. */
  draws(stream: string): Draws {
    return new Draws(this.#seed, stream)
  }

  /** The current leader, if any. */
  get leader(): Leader | undefined {
    return this.serving.leader
  }

  /** Options for every leader of this world. */
  get leaderParts(): LeaderParts {
    return {
      ids: this.#ids,
      random: this.#random,
      say: (text) => this.trace.say(text),
      sent: (text) => this.#checkSent(text),
      blame: (violation) => this.blame(violation),
      mistake: (text) => this.blame(new Violation('loops make no mistakes', text)),
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
    return this.clock.nowMs - this.#changedMs
  }

  get isOver(): () => boolean {
    return () => this.#violation !== undefined
  }

  blame(violation: Violation): void {
    if (this.#violation === undefined) this.trace.say(`VIOLATION ${violation.message}`)
    this.#violation ??= violation
  }

  /** Runs a check that may throw a violation. */
  guard(work: () => void): void {
    try {
      work()
    } catch (thrown) {
      if (!(thrown instanceof Violation)) throw thrown
      this.blame(thrown)
    }
  }

  addNode(): SimNode {
    const draws = this.#machineDraws
    const id = this.#nodeIds.uuid()
    const node = new SimNode({
      id,
      machine: makeMachine(draws, ++this.#nodesMade),
      secret: id.replace(/^0/, 'f'),
      world: this.clock,
      network: this.network,
      draws: this.draws(`agent ${id}`),
      skewMs: draws.chance(0.3) ? draws.between(-CLOCK_SKEW_MS_MAX, CLOCK_SKEW_MS_MAX) : 0,
      planOf: (assignment) => this.#planOf(assignment),
      blame: (violation) => this.blame(violation),
      say: (text) => this.trace.say(text),
    })
    this.nodes.set(id, node)
    node.powerOn()
    return node
  }

  /** Ends fault injection: tasks are healthy and finish. */
  calm(): void {
    this.#isCalm = true
    this.networkTrouble.delayMsMax = 3
    this.networkTrouble.lossChance = 0
    this.serving.calm()
  }

  /** A commit is durable on the disk or in the database. */
  written(text: string): void {
    this.#hash.update(text)
  }

  /** Commits that are published from now on, in order. */
  committed(commits: readonly Commit[]): void {
    for (const commit of commits)
      this.guard(() => {
        if (this.#violation !== undefined) return
        this.reader.expect(commit)
        this.trace.say(() => describe(commit))
        const changes = this.model.apply(commit)
        const isNews = [
          ...changes.allocations,
          ...changes.evaluations,
          ...changes.deployments,
          ...changes.nodes,
        ].some(({ after }) => after !== undefined)
        if (isNews) this.#changedMs = this.clock.nowMs
        checkRowMoves(this.model, changes)
        checkRoom(this.model, changes)
        this.#names.check(this.model, changes)
        this.#counts.check(this.model, changes)
        this.reader.rethrow()
      })
  }

  /** Invariant: nodes receive nothing that a crash could undo. */
  #checkSent(text: string): void {
    if (!text.startsWith('{"kind":"desired"')) return
    for (const [, index] of text.matchAll(/"AllocModifyIndex":(\d+)/g))
      if (Number(index) > this.model.index)
        this.blame(
          new Violation(
            'nothing is told before it is durable',
            `a node is told of ${index}, durable is ${this.model.index}`,
          ),
        )
  }

  #planOf(assignment: Assignment | undefined): TaskPlan {
    const { ID: jobId = '', Type: type = '' } = assignment?.job ?? {}
    const draws = this.#taskDraws
    const ends = type === 'batch' || type === 'sysbatch'
    const runMs = draws.between(500, ends ? 30_000 : 60_000)
    const fails = draws.chance(0.25)
    const startMs = draws.between(0, 1_500)
    const killMs = draws.between(0, 3_000)
    const isInTime = draws.chance(0.85)
    if (jobId === POISON)
      return { startMs, killMs, fails: false, runMs: undefined, takesNodeDown: true }
    if (this.#isCalm) return { startMs, killMs, fails: false, runMs: ends ? runMs : undefined }
    return {
      startMs: isInTime ? startMs : LATE_START_MS,
      killMs,
      fails,
      runMs: ends || fails ? runMs : undefined,
    }
  }
}

function describe({ index, rows }: Commit): string {
  const parts = rows.map(({ table, key, header, text }) => {
    if (header === undefined) return `-${table} ${key}`
    return `${table} ${key}${summaryOf(table, wholeText(text))}`
  })
  return `#${index} ${parts.join(' | ')}`
}

const SHOWN: Readonly<Record<string, readonly string[]>> = {
  allocations: ['Name', 'NodeName', 'DesiredStatus', 'ClientStatus', 'JobVersion'],
  deployments: ['JobID', 'JobVersion', 'Status'],
  evaluations: ['JobID', 'TriggeredBy', 'Status', 'WaitUntil'],
  jobs: ['Version', 'Status', 'Stop'],
  nodes: ['Name', 'Status', 'SchedulingEligibility', 'Drain'],
}

function summaryOf(table: string, body: string): string {
  const names = SHOWN[table]
  if (names === undefined) return ''
  // Proof: the body was encoded from a row.
  const row = JSON.parse(body) as object
  return ` (${names.map((name) => String(Reflect.get(row, name))).join(' ')})`
}
