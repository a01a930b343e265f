import { createHash } from 'node:crypto'
import type { DesiredAllocation } from '@reeve/contract'
import type { Commit, LogEntry } from '../src/state/index.ts'
import { decodeCommit } from '../src/state/codec.ts'
import { MemoryDisk } from '../src/storage/index.ts'
import { Draws, NumberedIds } from './draws.ts'
import { CountCheck } from './invariants/counts.ts'
import { Model } from './invariants/model.ts'
import { checkRoom } from './invariants/room.ts'
import { checkRowMoves, NameCheck } from './invariants/rows.ts'
import { Leader } from './leader.ts'
import { makeNode } from './make-node.ts'
import { Network, type NetworkTrouble } from './network.ts'
import { SimNode } from './sim-node.ts'
import { SlowEngine, type DiskTrouble } from './slow-engine.ts'
import { StreamReader } from './stream-reader.ts'
import type { Fate } from './task-run.ts'
import { Trace, Violation } from './trace.ts'
import { ProcessClock, VirtualClock } from './virtual-clock.ts'

export interface WorldOptions {
  readonly seed: number
  readonly nodes: number
  readonly print?: ((line: string) => void) | undefined
}

/** A leader that was found dead is started again after at most this long. */
const RESTART_MS_MAX = 5_000
const CLOCK_SKEW_MS_MAX = 3_000

/**
 * One cluster in one process: leader, disk, network, machines and time. Everything that happens in
 * it follows from the seed.
 */
export class World {
  readonly clock = new VirtualClock()
  readonly trace: Trace
  readonly model = new Model()
  readonly reader: StreamReader
  readonly network: Network
  readonly nodes = new Map<string, SimNode>()
  readonly diskTrouble: DiskTrouble = { slowMsMax: 5, next: undefined }
  readonly networkTrouble: NetworkTrouble = { delayMsMax: 10, lossChance: 0 }
  /** How far the clock of the leader's machine is ahead; never less than before. */
  readonly leaderSkew = { ms: 0 }
  readonly nodesAtFirst: number
  readonly #seed: number
  readonly #disk = new MemoryDisk()
  readonly #hash = createHash('sha256')
  readonly #names = new NameCheck()
  readonly #counts = new CountCheck()
  readonly #ids = new NumberedIds('1')
  readonly #nodeIds = new NumberedIds('2')
  readonly #random: Draws
  readonly #diskDraws: Draws
  readonly #taskDraws: Draws
  readonly #machineDraws: Draws
  #leader: Leader | undefined
  #violation: Violation | undefined
  #changedMs = 0
  #isCalm = false
  #crashes = 0
  #nodesMade = 0

  constructor({ seed, nodes, print }: WorldOptions) {
    this.#seed = seed
    this.nodesAtFirst = nodes
    this.trace = new Trace(() => this.clock.elapsedMs / 1_000, print)
    this.#random = this.draws('leader')
    this.#diskDraws = this.draws('disk')
    this.#taskDraws = this.draws('tasks')
    this.#machineDraws = this.draws('machines')
    this.reader = new StreamReader(this.draws('reader'))
    this.network = new Network({
      clock: this.clock,
      draws: this.draws('network'),
      trouble: this.networkTrouble,
      accept: () => this.#accept(),
    })
    for (let i = 0; i < nodes; i++) this.addNode()
  }

  /** Random draws for one purpose, the same for the same seed. */
  draws(stream: string): Draws {
    return new Draws(this.#seed, stream)
  }

  /** Who leads; undefined while nobody does. */
  get leader(): Leader | undefined {
    return this.#leader
  }

  get crashes(): number {
    return this.#crashes
  }

  /** What was found wrong first. */
  get violation(): Violation | undefined {
    return this.#violation
  }

  /** Of all commits, in order: equal worlds have equal ones. */
  get commitHash(): string {
    return this.#hash.copy().digest('hex')
  }

  /** How long nothing but what was collected has changed. */
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

  /** Runs something that may find a violation. */
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
      registration: makeNode(draws, id, ++this.#nodesMade),
      secret: id.replace(/^0/, 'f'),
      world: this.clock,
      network: this.network,
      draws: this.draws(`agent ${id}`),
      skewMs: draws.chance(0.3) ? draws.between(-CLOCK_SKEW_MS_MAX, CLOCK_SKEW_MS_MAX) : 0,
      fateOf: (desired) => this.#fateOf(desired),
    })
    this.nodes.set(id, node)
    node.powerOn()
    return node
  }

  /** Starts the leader on what the disk holds, and compares that with what was told. */
  async openLeader(): Promise<void> {
    const clock = new ProcessClock(this.clock, this.leaderSkew)
    const engine = new SlowEngine({
      disk: this.#disk,
      clock,
      draws: this.#diskDraws,
      trouble: this.diskTrouble,
      written: (entry) => this.#written(entry),
    })
    const leader = await Leader.open({
      engine,
      clock,
      ids: this.#ids,
      random: this.#random,
      say: (text) => this.trace.say(text),
      revealed: (commits) => this.#revealed(commits),
      sent: (text) => this.#checkSent(text),
      mistake: (text) => this.blame(new Violation('loops make no mistakes', text)),
      failed: (fault) => this.crashSoon(`the storage failed: ${fault.kind}`),
    })
    // What survived though nobody was told of it is true from now on.
    const found = this.#disk.entries(this.model.index + 1, this.#disk.lastIndex)
    this.#revealed(found.map((entry) => decodeCommit(entry.text)))
    this.guard(() => this.model.compare(leader.store))
    this.#leader = leader
    this.reader.reopen(leader.hub, () => leader.store.log.firstIndex)
    // Its first write takes its time; if that fails it is found dead like any other.
    leader.start().catch((thrown: unknown) => this.trace.say(`start failed: ${String(thrown)}`))
    if (this.#isCalm) leader.calm()
    this.trace.say(`leader up at index ${leader.store.index}`)
  }

  /** The leader dies now; another one starts after a while. */
  async crash(reason: string): Promise<void> {
    const leader = this.#leader
    if (leader === undefined) return
    this.#leader = undefined
    this.#crashes += 1
    this.trace.say(`leader dies: ${reason}`)
    this.reader.close()
    await leader.crash()
    this.network.cut()
    this.clock.after(this.draws(`restart ${this.#crashes}`).between(0, RESTART_MS_MAX), () => {
      void this.openLeader()
    })
  }

  /** For whoever cannot wait for it. */
  crashSoon(reason: string): void {
    this.clock.after(0, () => void this.crash(reason))
  }

  /** From here on nothing goes wrong, tasks are well, and work ends. */
  calm(): void {
    this.#isCalm = true
    this.diskTrouble.slowMsMax = 1
    this.diskTrouble.next = undefined
    this.networkTrouble.delayMsMax = 3
    this.networkTrouble.lossChance = 0
    this.#leader?.calm()
  }

  #accept() {
    const leader = this.#leader
    if (leader === undefined || leader.store.fault !== undefined) return undefined
    return leader.accept.bind(leader)
  }

  #written(entry: LogEntry): void {
    this.#hash.update(entry.text)
  }

  #revealed(commits: readonly Commit[]): void {
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

  /** Nodes are told of nothing that a crash could take back. */
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

  #fateOf({ job }: DesiredAllocation): Fate {
    const draws = this.#taskDraws
    const ends = job.Type === 'batch' || job.Type === 'sysbatch'
    const runMs = draws.between(500, ends ? 30_000 : 60_000)
    const fails = draws.chance(0.25)
    const fate = {
      startMs: draws.between(0, 1_500),
      killMs: draws.between(0, 3_000),
      runMs: ends || fails ? runMs : undefined,
      fails,
      becomesHealthy: draws.chance(0.85),
    }
    if (!this.#isCalm) return fate
    return { ...fate, fails: false, becomesHealthy: true, runMs: ends ? runMs : undefined }
  }
}

function describe({ index, rows }: Commit): string {
  const parts = rows.map(({ table, key, header, body }) => {
    if (header === undefined) return `-${table} ${key}`
    return `${table} ${key}${summaryOf(table, body)}`
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
  // The body was encoded from a row.
  const row = JSON.parse(body) as object
  return ` (${names.map((name) => String(Reflect.get(row, name))).join(' ')})`
}
