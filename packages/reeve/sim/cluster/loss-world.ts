import type { ReadConsistency } from '../../src/http/index.ts'
import { DEFAULT_LEASE_TIMING } from '../../src/cluster/index.ts'
import { decodeCommit } from '../../src/state/commit-codec.ts'
import { put, type Store } from '../../src/state/index.ts'
import { unescapeText } from '../../src/storage/text-escape.ts'
import { namespaceRow } from '../../src/workload/namespaces.ts'
import { RandomStream, SequentialIds } from '../random-stream.ts'
import type { SimulationResult } from '../simulation.ts'
import { Trace, Violation } from '../trace.ts'
import { VirtualClock } from '../virtual-clock.ts'
import type { DatabaseConditions } from './database-link.ts'
import { SharedDatabase, type WrittenEntry } from './shared-database.ts'
import { fakeRequest, SimServer } from './sim-server.ts'

const SERVER_NAMES = ['s1', 's2', 's3'] as const
const MAX_STEP_MS = 1_500
const CHECK_INTERVAL_MS = 100
const MAX_OUTAGE_MS = 12_000
const MAX_FAILOVER_MS = 6_000
const MAX_REPLICATION_LAG_MS = 5_000
const MAX_DECISION_MS = 15_000
const RECOVERY_MS = 60_000
/** Maximum drift between the clocks of two machines. */
const MAX_CLOCK_DRIFT = 0.04
const TRACE_TAIL_LINES = 60
const CONSISTENT: ReadConsistency = {
  answeredBy: 'any',
  isRead: true,
  isStale: false,
  isConsistent: true,
}

interface LossOptions {
  readonly seed: number
  readonly print?: ((line: string) => void) | undefined
}

interface AcknowledgedWrite {
  readonly name: string
  readonly index: number
}

/**
 * Three servers on a database that fails over to a standby that may lack its last commits, while
 * servers are paused or partitioned from it. Acknowledged commits can get lost, so most invariants
 * of other worlds do not hold. These do: no server serves a state that the database does not have,
 * every lost commit is reported, and nothing is appended before an operator accepts the loss.
 */
export async function simulateLoss(options: LossOptions): Promise<SimulationResult> {
  const world = new LossWorld(options)
  await world.run()
  return world.result()
}

class LossWorld {
  readonly #seed: number
  readonly #clock = new VirtualClock()
  readonly #trace: Trace
  readonly #random: RandomStream
  readonly #servers: readonly SimServer[]
  readonly #database: SharedDatabase
  readonly #conditions: DatabaseConditions = {
    delayMsMax: 3,
    lossChance: 0,
    responseLossChance: 0,
    lateChance: 0,
    isDown: false,
    interruptWrite: undefined,
  }
  readonly #partitioned = new Set<string>()
  /** The namespaces written by each entry of the log in the database. */
  #namespacesByIndex = new Map<number, readonly string[]>()
  readonly #acknowledged: AcknowledgedWrite[] = []
  /** Every loss ever recorded, even if the database has since lost the record. */
  readonly #reportedLosses = new Map<string, { from: number; to: number }>()
  #failovers = 0
  #failoverMs = 0
  #lostCount = 0
  #namespaceCount = 0
  #isDecisionPending = false
  #violation: Violation | undefined

  constructor({ seed, print }: LossOptions) {
    this.#seed = seed
    this.#trace = new Trace(() => this.#clock.elapsedMs / 1_000, print)
    this.#random = new RandomStream(seed, 'losses')
    this.#database = new SharedDatabase({
      nowMs: () => this.#clock.nowMs,
      onAppended: (entries) => this.#onAppended(entries),
      onLeaseChanged: () => this.#notify('lease'),
    })
    this.#servers = SERVER_NAMES.map((name) => this.#makeServer(name))
  }

  #makeServer(name: string): SimServer {
    const random = new RandomStream(this.#seed, `server ${name}`)
    return new SimServer({
      name,
      virtualClock: this.#clock,
      rate: 1 + (random.next() * 2 - 1) * MAX_CLOCK_DRIFT,
      skew: { ms: 0 },
      link: {
        database: this.#database,
        random: new RandomStream(this.#seed, `database link ${name}`),
        conditions: this.#conditions,
        isPartitioned: () => this.#partitioned.has(name),
      },
      leaderParts: {
        ids: new SequentialIds('1'),
        random: new RandomStream(this.#seed, `leader ${name}`),
        trace: (text) => this.#trace.log(text),
        onSent: () => undefined,
        reportViolation: ({ message }) =>
          this.#reportViolation('a leader keeps its guarantees', message),
        onBug: (text) => {
          // A leader is rejected after a failover before it knows the reason.
          if (!text.startsWith('checkpoint failed'))
            this.#reportViolation('loops have no bugs', text)
        },
      },
      areFaultsStopped: () => false,
      onOpened: () => undefined,
      onPublished: () => undefined,
      onExit: (server) => server.start(),
    })
  }

  async run(): Promise<void> {
    for (const server of this.#servers) server.start()
    this.#checkPeriodically()
    await this.#advance(3_000)
    const steps = this.#random.between(15, 50)
    for (let step = 0; step < steps && this.#violation === undefined; step++) {
      this.#write()
      if (this.#random.chance(0.15)) this.#injectOutage()
      if (this.#random.chance(0.08)) this.#failOver()
      await this.#advance(this.#random.between(0, MAX_STEP_MS))
    }
    this.#trace.log('everything is mended')
    await this.#advance(MAX_OUTAGE_MS)
    this.#partitioned.clear()
    for (const server of this.#servers) server.process.resume()
    await this.#advance(RECOVERY_MS)
    this.#checkFinalState()
  }

  result(): SimulationResult {
    return {
      seed: this.#seed,
      violation: this.#violation,
      tail: this.#violation === undefined ? [] : this.#trace.tail(TRACE_TAIL_LINES),
      commitHash: '',
      commits: this.#database.lastIndex,
      crashes: this.#lostCount,
      faults: this.#failovers,
      allocations: 0,
      failedDeployments: 0,
      virtualMs: this.#clock.elapsedMs,
    }
  }

  async #advance(ms: number): Promise<void> {
    await this.#clock.advance(ms, () => this.#violation !== undefined)
  }

  #reportViolation(invariant: string, details: string): void {
    if (this.#violation === undefined) this.#trace.log(`VIOLATION ${invariant}: ${details}`)
    this.#violation ??= new Violation(invariant, details)
  }

  #notify(change: 'log' | 'lease'): void {
    for (const server of this.#servers) server.notify(change)
  }

  #onAppended(entries: readonly WrittenEntry[]): void {
    for (const { index, text } of entries) {
      const { rows } = decodeCommit(unescapeText(text))
      const names = rows.filter(({ table }) => table === 'namespaces').map(({ key }) => key)
      this.#namespacesByIndex.set(index, names)
    }
    this.#notify('log')
  }

  /** Creates a namespace; the client may receive an acknowledgement. */
  #write(): void {
    const leader = this.#servers.find((server) => server.leading !== undefined)
    if (leader === undefined) return
    const Name = `n${++this.#namespaceCount}`
    leader.process.deliver(() => {
      const store = leader.leading?.store
      if (store === undefined) return
      try {
        const { index, durable } = store.commit({
          by: 'system',
          cause: undefined,
          changes: () => [put('namespaces', namespaceRow({ Name }))],
        })
        durable.then(
          () => this.#acknowledged.push({ name: Name, index }),
          () => undefined,
        )
      } catch (thrown) {
        this.#trace.log(`${Name} is refused: ${String(thrown)}`)
      }
    })
  }

  /** Pauses a server or partitions it from the database. */
  #injectOutage(): void {
    const server = this.#random.pick(this.#servers)
    if (server === undefined) return
    const durationMs = this.#random.between(100, MAX_OUTAGE_MS)
    const isPaused = this.#random.chance(0.5)
    this.#trace.log(`${server.name} is ${isPaused ? 'paused' : 'cut off'} for ${durationMs} ms`)
    if (isPaused) server.process.pause()
    else this.#partitioned.add(server.name)
    this.#clock.after(durationMs, () => {
      if (isPaused) server.process.resume()
      else this.#partitioned.delete(server.name)
    })
  }

  /**
   * Replication to the standby stops for a while; then the primary fails and the standby is
   * promoted.
   */
  #failOver(): void {
    const [copy, written] = [this.#database.copy(), new Map(this.#namespacesByIndex)]
    const lagMs = this.#random.chance(0.3) ? 0 : this.#random.between(0, MAX_REPLICATION_LAG_MS)
    this.#clock.after(lagMs, () => {
      const lost = this.#database.lastIndex - copy.head.lastIndex
      this.#trace.log(`the database fails over to index ${copy.head.lastIndex}, ${lost} are lost`)
      this.#recordLosses()
      this.#conditions.isDown = true
      this.#database.promote(copy)
      this.#failovers += 1
      this.#failoverMs = this.#clock.elapsedMs
      this.#namespacesByIndex = new Map(written)
      this.#clock.after(this.#random.between(0, MAX_FAILOVER_MS), () => {
        this.#conditions.isDown = false
      })
    })
  }

  #checkPeriodically(): void {
    this.#recordLosses()
    for (const server of this.#servers) this.#checkServer(server)
    const leader = this.#servers.find((server) => server.leading !== undefined)
    if (leader !== undefined) this.#checkConsistentRead(leader)
    if (this.#database.hasOpenLoss) this.#scheduleAcceptance()
    this.#clock.after(CHECK_INTERVAL_MS, () => this.#checkPeriodically())
  }

  #recordLosses(): void {
    for (const loss of this.#database.listLosses()) {
      const [from, to] = [Number(loss['from_index']), Number(loss['to_index'])]
      const known = this.#reportedLosses.get(String(loss['id'])) ?? { from, to }
      this.#reportedLosses.set(String(loss['id']), {
        from: Math.min(from, known.from),
        to: Math.max(to, known.to),
      })
    }
  }

  /** An operator accepts the loss after a while. */
  #scheduleAcceptance(): void {
    if (this.#isDecisionPending) return
    this.#isDecisionPending = true
    this.#clock.after(this.#random.between(0, MAX_DECISION_MS), () => {
      this.#isDecisionPending = false
      const leader = this.#servers.find((server) => server.isLeading && server.process.isRunning)
      leader?.acceptLoss().catch((thrown: unknown) => this.#trace.log(String(thrown)))
    })
  }

  /**
   * A server that contacted the database after the failover must serve the database's state. So
   * must a server that claims to lead once all leases from before have expired.
   */
  #checkServer(server: SimServer): void {
    const opened = server.openServer
    if (opened === undefined || !server.process.isRunning) return
    const sinceMs = this.#clock.elapsedMs - this.#failoverMs
    const contactMs = (opened.gate.staleness().lastContactMs + 1) / (1 - MAX_CLOCK_DRIFT)
    const mustMatch = server.isLeading
      ? sinceMs > DEFAULT_LEASE_TIMING.ttlMs / (1 - MAX_CLOCK_DRIFT)
      : contactMs < sinceMs
    if (mustMatch)
      this.#compareWithDatabase(server, opened.leader.store, server.isLeading ? 'leads' : 'follows')
  }

  /** A read confirmed by the current database. */
  #checkConsistentRead(server: SimServer): void {
    const opened = server.openServer
    if (opened === undefined) return
    const failovers = this.#failovers
    const route = opened.gate.route(fakeRequest('GET', '/v1/namespaces?consistent'), CONSISTENT)
    if (route !== 'linearizable') return
    const read = async (): Promise<void> => {
      const isConfirmed = await opened.gate.confirmLeadership()
      if (isConfirmed && failovers === this.#failovers && server.openServer === opened)
        this.#compareWithDatabase(server, opened.leader.store, 'reads consistently')
    }
    void read()
  }

  #compareWithDatabase(server: SimServer, store: Store, situation: string): void {
    const actual = [...store.tables.namespaces.keys()].toSorted()
    const isDurable = store.durableIndex === store.index
    // Commits that are not durable are not served.
    if (!isDurable) return
    const expectedNames = new Set<string>()
    for (const [index, names] of this.#namespacesByIndex)
      if (index <= store.index) for (const name of names) expectedNames.add(name)
    const expected = [...expectedNames].toSorted()
    if (actual.join() === expected.join() && store.index <= this.#database.lastIndex) return
    const extra = actual.filter((name) => !expectedNames.has(name))
    const missing = expected.filter((name) => !actual.includes(name))
    this.#reportViolation(
      'no server answers from a state that the database does not have',
      `${server.name} ${situation} at index ${store.index}: has ${extra.join()}, lacks ${missing.join()}`,
    )
  }

  #checkFinalState(): void {
    if (this.#violation !== undefined) return
    for (const server of this.#servers) {
      const store = server.openServer?.leader.store
      if (store === undefined) return this.#reportViolation('every server recovers', server.name)
      if (store.index !== this.#database.lastIndex)
        return this.#reportViolation(
          'every server has the whole log',
          `${server.name} ${store.index}`,
        )
      this.#compareWithDatabase(server, store, 'ends')
    }
    if (!this.#servers.some((server) => server.isLeading))
      return this.#reportViolation('a leader is elected', 'no server leads')
    if (this.#database.hasOpenLoss)
      return this.#reportViolation('losses are accepted', 'one is open')
    const present = new Set([...this.#namespacesByIndex.values()].flat())
    for (const { name, index } of this.#acknowledged) {
      if (present.has(name)) continue
      this.#lostCount += 1
      const ranges = [...this.#reportedLosses.values()]
      if (!ranges.some(({ from, to }) => from <= index && index <= to))
        this.#reportViolation('every lost commit is reported', `${name} at index ${index}`)
    }
  }
}
