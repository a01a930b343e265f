import type { ReadConsistency } from '../../src/http/index.ts'
import { LEASE } from '../../src/cluster/index.ts'
import { decodeCommit } from '../../src/state/codec.ts'
import { put, type Store } from '../../src/state/index.ts'
import { unescapeText } from '../../src/storage/embedded/text-escape.ts'
import { namespaceRow } from '../../src/workload/namespaces.ts'
import { Draws, NumberedIds } from '../draws.ts'
import type { SimulationResult } from '../simulation.ts'
import { Trace, Violation } from '../trace.ts'
import { VirtualClock } from '../virtual-clock.ts'
import type { DatabaseTrouble } from './database-link.ts'
import { SharedDatabase, type WrittenEntry } from './shared-database.ts'
import { aRequest, SimServer } from './sim-server.ts'

const NAMES = ['s1', 's2', 's3'] as const
const STEP_MS_MAX = 1_500
const CHECK_MS = 100
const AWAY_MS_MAX = 12_000
const FAILOVER_MS_MAX = 6_000
const BEHIND_MS_MAX = 5_000
const DECIDE_MS_MAX = 15_000
const SETTLE_MS = 60_000
/** Maximum drift between the clocks of two machines. */
const DRIFT_MAX = 0.04
const TAIL_LINES = 60
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

interface Acknowledged {
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
  await world.live()
  return world.result()
}

class LossWorld {
  readonly #seed: number
  readonly #clock = new VirtualClock()
  readonly #trace: Trace
  readonly #draws: Draws
  readonly #servers: readonly SimServer[]
  readonly #database: SharedDatabase
  readonly #trouble: DatabaseTrouble = {
    delayMsMax: 3,
    lossChance: 0,
    answerLossChance: 0,
    lateChance: 0,
    isAway: false,
    strike: undefined,
  }
  readonly #cut = new Set<string>()
  /** The namespaces written by each entry of the log in the database. */
  #written = new Map<number, readonly string[]>()
  readonly #acknowledged: Acknowledged[] = []
  /** Every loss ever recorded, even if the database has since lost the record. */
  readonly #reported = new Map<string, { from: number; to: number }>()
  #failovers = 0
  #failoverMs = 0
  #lost = 0
  #names = 0
  #isDeciding = false
  #violation: Violation | undefined

  constructor({ seed, print }: LossOptions) {
    this.#seed = seed
    this.#trace = new Trace(() => this.#clock.elapsedMs / 1_000, print)
    this.#draws = new Draws(seed, 'losses')
    this.#database = new SharedDatabase({
      nowMs: () => this.#clock.nowMs,
      appended: (entries) => this.#appended(entries),
      moved: () => this.#ring('lease'),
    })
    this.#servers = NAMES.map((name) => this.#makeServer(name))
  }

  #makeServer(name: string): SimServer {
    const draws = new Draws(this.#seed, `server ${name}`)
    return new SimServer({
      name,
      world: this.#clock,
      rate: 1 + (draws.next() * 2 - 1) * DRIFT_MAX,
      skew: { ms: 0 },
      link: {
        database: this.#database,
        draws: new Draws(this.#seed, `database link ${name}`),
        trouble: this.#trouble,
        isCut: () => this.#cut.has(name),
      },
      parts: {
        ids: new NumberedIds('1'),
        random: new Draws(this.#seed, `leader ${name}`),
        say: (text) => this.#trace.say(text),
        sent: () => undefined,
        blame: ({ message }) => this.#blame('a leader keeps its promises', message),
        mistake: (text) => {
          // A leader is rejected after a failover before it knows the reason.
          if (!text.startsWith('checkpoint failed')) this.#blame('loops make no mistakes', text)
        },
      },
      isCalm: () => false,
      opened: () => undefined,
      revealed: () => undefined,
      ended: (server) => server.start(),
    })
  }

  async live(): Promise<void> {
    for (const server of this.#servers) server.start()
    this.#watch()
    await this.#pass(3_000)
    const steps = this.#draws.between(15, 50)
    for (let step = 0; step < steps && this.#violation === undefined; step++) {
      this.#write()
      if (this.#draws.chance(0.15)) this.#disturb()
      if (this.#draws.chance(0.08)) this.#failOver()
      await this.#pass(this.#draws.between(0, STEP_MS_MAX))
    }
    this.#trace.say('everything is mended')
    await this.#pass(AWAY_MS_MAX)
    this.#cut.clear()
    for (const server of this.#servers) server.process.resume()
    await this.#pass(SETTLE_MS)
    this.#judge()
  }

  result(): SimulationResult {
    return {
      seed: this.#seed,
      violation: this.#violation,
      tail: this.#violation === undefined ? [] : this.#trace.tail(TAIL_LINES),
      commitHash: '',
      commits: this.#database.lastIndex,
      crashes: this.#lost,
      faults: this.#failovers,
      allocations: 0,
      failedDeployments: 0,
      virtualMs: this.#clock.elapsedMs,
    }
  }

  async #pass(ms: number): Promise<void> {
    await this.#clock.advance(ms, () => this.#violation !== undefined)
  }

  #blame(invariant: string, what: string): void {
    if (this.#violation === undefined) this.#trace.say(`VIOLATION ${invariant}: ${what}`)
    this.#violation ??= new Violation(invariant, what)
  }

  #ring(rung: 'log' | 'lease'): void {
    for (const server of this.#servers) server.ring(rung)
  }

  #appended(entries: readonly WrittenEntry[]): void {
    for (const { index, text } of entries) {
      const { rows } = decodeCommit(unescapeText(text))
      const names = rows.filter(({ table }) => table === 'namespaces').map(({ key }) => key)
      this.#written.set(index, names)
    }
    this.#ring('log')
  }

  /** Creates a namespace; the client may receive an acknowledgement. */
  #write(): void {
    const leader = this.#servers.find((server) => server.leading !== undefined)
    if (leader === undefined) return
    const Name = `n${++this.#names}`
    leader.process.enter(() => {
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
        this.#trace.say(`${Name} is refused: ${String(thrown)}`)
      }
    })
  }

  /** Pauses a server or partitions it from the database. */
  #disturb(): void {
    const server = this.#draws.pick(this.#servers)
    if (server === undefined) return
    const lastsMs = this.#draws.between(100, AWAY_MS_MAX)
    const isPaused = this.#draws.chance(0.5)
    this.#trace.say(`${server.name} is ${isPaused ? 'paused' : 'cut off'} for ${lastsMs} ms`)
    if (isPaused) server.process.pause()
    else this.#cut.add(server.name)
    this.#clock.after(lastsMs, () => {
      if (isPaused) server.process.resume()
      else this.#cut.delete(server.name)
    })
  }

  /**
   * Replication to the standby stops for a while; then the primary fails and the standby is
   * promoted.
   */
  #failOver(): void {
    const [copy, written] = [this.#database.copy(), new Map(this.#written)]
    const behindMs = this.#draws.chance(0.3) ? 0 : this.#draws.between(0, BEHIND_MS_MAX)
    this.#clock.after(behindMs, () => {
      const lost = this.#database.lastIndex - copy.head.lastIndex
      this.#trace.say(`the database fails over to index ${copy.head.lastIndex}, ${lost} are lost`)
      this.#noteLosses()
      this.#trouble.isAway = true
      this.#database.promote(copy)
      this.#failovers += 1
      this.#failoverMs = this.#clock.elapsedMs
      this.#written = new Map(written)
      this.#clock.after(this.#draws.between(0, FAILOVER_MS_MAX), () => {
        this.#trouble.isAway = false
      })
    })
  }

  #watch(): void {
    this.#noteLosses()
    for (const server of this.#servers) this.#check(server)
    const leader = this.#servers.find((server) => server.leading !== undefined)
    if (leader !== undefined) this.#readConsistently(leader)
    if (this.#database.hasOpenLoss) this.#decide()
    this.#clock.after(CHECK_MS, () => this.#watch())
  }

  #noteLosses(): void {
    for (const loss of this.#database.listLosses()) {
      const [from, to] = [Number(loss['from_index']), Number(loss['to_index'])]
      const known = this.#reported.get(String(loss['id'])) ?? { from, to }
      this.#reported.set(String(loss['id']), {
        from: Math.min(from, known.from),
        to: Math.max(to, known.to),
      })
    }
  }

  /** An operator accepts the loss after a while. */
  #decide(): void {
    if (this.#isDeciding) return
    this.#isDeciding = true
    this.#clock.after(this.#draws.between(0, DECIDE_MS_MAX), () => {
      this.#isDeciding = false
      const leader = this.#servers.find((server) => server.isLeading && server.process.isRunning)
      leader?.acceptLoss().catch((thrown: unknown) => this.#trace.say(String(thrown)))
    })
  }

  /**
   * A server that contacted the database after the failover must serve the database's state. So
   * must a server that claims to lead once all leases from before have expired.
   */
  #check(server: SimServer): void {
    const opened = server.opened
    if (opened === undefined || !server.process.isRunning) return
    const sinceMs = this.#clock.elapsedMs - this.#failoverMs
    const contactMs = (opened.gate.staleness().lastContactMs + 1) / (1 - DRIFT_MAX)
    const isBound = server.isLeading ? sinceMs > LEASE.ttlMs / (1 - DRIFT_MAX) : contactMs < sinceMs
    if (isBound) this.#compare(server, opened.leader.store, server.isLeading ? 'leads' : 'follows')
  }

  /** A read confirmed by the current database. */
  #readConsistently(server: SimServer): void {
    const opened = server.opened
    if (opened === undefined) return
    const failovers = this.#failovers
    const route = opened.gate.route(aRequest('GET', '/v1/namespaces?consistent'), CONSISTENT)
    if (route !== 'linearizable') return
    const read = async (): Promise<void> => {
      const isConfirmed = await opened.gate.confirmLeadership()
      if (isConfirmed && failovers === this.#failovers && server.opened === opened)
        this.#compare(server, opened.leader.store, 'reads consistently')
    }
    void read()
  }

  #compare(server: SimServer, store: Store, how: string): void {
    const shown = [...store.tables.namespaces.keys()].toSorted()
    const isDurable = store.durableIndex === store.index
    // Commits that are not durable are not served.
    if (!isDurable) return
    const wanted = new Set<string>()
    for (const [index, names] of this.#written)
      if (index <= store.index) for (const name of names) wanted.add(name)
    const expected = [...wanted].toSorted()
    if (shown.join() === expected.join() && store.index <= this.#database.lastIndex) return
    const more = shown.filter((name) => !wanted.has(name))
    const less = expected.filter((name) => !shown.includes(name))
    this.#blame(
      'no server answers from a state that the database does not have',
      `${server.name} ${how} at index ${store.index}: has ${more.join()}, lacks ${less.join()}`,
    )
  }

  #judge(): void {
    if (this.#violation !== undefined) return
    for (const server of this.#servers) {
      const store = server.opened?.leader.store
      if (store === undefined) return this.#blame('every server comes back', server.name)
      if (store.index !== this.#database.lastIndex)
        return this.#blame('every server has all of the log', `${server.name} ${store.index}`)
      this.#compare(server, store, 'ends')
    }
    if (!this.#servers.some((server) => server.isLeading))
      return this.#blame('a leader comes back', 'nobody leads')
    if (this.#database.hasOpenLoss) return this.#blame('losses are accepted', 'one is open')
    const there = new Set([...this.#written.values()].flat())
    for (const { name, index } of this.#acknowledged) {
      if (there.has(name)) continue
      this.#lost += 1
      const ranges = [...this.#reported.values()]
      if (!ranges.some(({ from, to }) => from <= index && index <= to))
        this.#blame('every lost commit is reported', `${name} at index ${index}`)
    }
  }
}
