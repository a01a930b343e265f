import {
  ACCEPT_COMMAND,
  assertAdjacentVersions,
  describeRefusal,
  FollowLoop,
  isNamed,
  LeaseKeeper,
  LOG_DIVERGED,
  LossMonitor,
  lostCommits,
  membersOf,
  RequestGate,
  RollKeeper,
  type CommitLoss,
  type FollowedLog,
  type Leadership,
  type Member,
} from '../cluster/index.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { PostgresEngine } from '../storage/index.ts'
import {
  SYSTEM_TIMING,
  type ClusterMemberOptions,
  type MemberServer,
  type MemberTiming,
} from './cluster-member-options.ts'
import { LeasePause } from './lease-pause.ts'
import { GIVEN_UP, inDoubt, KEEPS_STATE, OTHER_LOG, SUSPENDING, toFault } from './member-faults.ts'
import { PortKeeper } from './port-keeper.ts'
import { portOf } from './port-of.ts'
import { peerSecurity } from './port-security.ts'
import { Server } from './server.ts'
import { TroubleTeller } from './trouble-teller.ts'

/** A database that is away, or a port that is not free yet: looked at again after this time. */
const REOPEN_MS = 1_000
/** A start is announced when somebody leads, or after this time. */
const LED_MS_MAX = 5_000
const LOOK_MS = 20
/** How often a leader looks whether another server has recorded, or somebody accepted, a loss. */
const LOSSES_LOOK_MS = 1_000
/** Between two looks whether a database takes commits again: twice as long each time. */
const WRITABLE_LOOK_MS = 1_000
const WRITABLE_LOOK_MS_MAX = 15_000

/** What there is while a server is open; all of it goes when it has led and does not any more. */
interface Opened {
  readonly engine: PostgresEngine
  readonly server: MemberServer
  readonly gate: RequestGate
  readonly follow: FollowLoop
  readonly keeper: LeaseKeeper
  /** Under which name the lease is taken; another one for each opening. */
  readonly holder: string
  /** Ends a wait that is over when all of this is closed. */
  readonly closing: AbortController
}

/** What a server does that has the lease: all of it, or answering reads only. */
type Serving = 'nothing' | 'reads' | 'everything'

/**
 * A server of several that share one state. It follows the log; when the lease is free it takes
 * it and leads; when it does not lead any more it opens anew, because what it holds may be ahead
 * of the log (decision 0031).
 */
export class ClusterMember {
  readonly #options: ClusterMemberOptions
  readonly #timing: MemberTiming
  readonly #roll: RollKeeper
  readonly #following: TroubleTeller
  readonly #leasing: TroubleTeller
  readonly #losses: LossMonitor
  #opened: Opened | undefined
  /** As the leader. */
  #serving: Serving = 'nothing'
  #cancelLossesLook: () => void = () => undefined
  readonly #leasePause = new LeasePause()
  #isStopped = false
  #portKeeper: PortKeeper | undefined
  #httpPort: number
  #address = ''
  #changing: Promise<void> = Promise.resolve()

  private constructor(options: ClusterMemberOptions) {
    this.#options = options
    this.#timing = options.timing ?? SYSTEM_TIMING
    this.#httpPort = options.config.ports.http
    this.#roll = this.#newRoll()
    this.#following = this.#newTeller('the log of the cluster', 'followed')
    this.#leasing = this.#newTeller('the lease of the cluster', 'asked for')
    const { config, log, database } = options
    const { losses: store, name } = database
    this.#losses = new LossMonitor({ store, database: name, name: config.name, log })
  }

  /** Resolves when requests are answered, by this server or another. */
  static async start(options: ClusterMemberOptions): Promise<ClusterMember> {
    const member = new ClusterMember(options)
    const { config, database, secrets, self } = options
    await database.claim({ keyCheck: secrets.keyCheck, region: config.region })
    await assertAdjacentVersions(database.roll, member.#roll.own)
    self.join({
      leader: () => member.leader,
      isLeading: () => member.isLeading,
      members: () => member.members,
      refusal: () => member.refusal,
      trouble: () => member.trouble,
      commitsLost: () => member.#losses.commitsLost,
      acceptLoss: (by) => member.acceptLoss(by),
      retire: (name, prune) => member.#roll.retire(name, prune),
    })
    await member.#open()
    await member.#roll.start()
    await member.#untilLed()
    return member
  }

  /** Whoever announces the server has something to announce; who never finds a leader says so. */
  async #untilLed(): Promise<void> {
    for (let waitedMs = 0; this.leader === '' && waitedMs < LED_MS_MAX; waitedMs += LOOK_MS)
      await this.#pause(LOOK_MS)
  }

  /** `http://host:port` as it is bound. */
  get httpAddress(): string {
    return this.#address
  }

  get isLeading(): boolean {
    return this.#serving !== 'nothing' && this.#opened?.keeper.isLeading() === true
  }

  /** Why no server of the cluster takes writes, where commits were lost; else undefined. */
  get refusal(): string | undefined {
    const { open } = this.#losses
    return open === undefined ? undefined : describeRefusal(open, this.#options.database.name)
  }

  /** Why nobody leads, as far as this server knows. */
  get trouble(): string | undefined {
    const { current } = this.#leasing
    if (current === undefined) return undefined
    const { name } = this.#options.database
    return `the database ${name} has not answered for ${Math.round(current.lastedMs / 1_000)} s`
  }

  /** The cluster goes on without the commits that were lost. Gives what was not accepted before. */
  async acceptLoss(by: string): Promise<readonly CommitLoss[]> {
    const { database, log } = this.#options
    const accepted = await database.losses.accept(by)
    for (const loss of accepted)
      log.warn(
        { by, lost: lostCommits(loss), fromIndex: loss.fromIndex, toIndex: loss.toIndex },
        'the loss of commits is accepted: the log goes on without them',
      )
    await this.#lookAtLosses()
    await this.#changing
    return accepted
  }

  /** `host:port` of whoever leads, as the others reach it; empty when nobody does. */
  get leader(): string {
    if (this.isLeading) return this.#advertised
    const found = this.#opened?.follow.leader
    // Its own address: it has the lease and has not taken over yet.
    return found === undefined || found.address === this.#advertised ? '' : found.address
  }

  /** Every server of the cluster, as far as this one knows. */
  get members(): readonly Member[] {
    return membersOf({ own: this.#roll.own, found: this.#roll.found, leader: this.leader })
  }

  /** Of another server that can be reached, by its name with or without the region. */
  #addressOf(server: string): string | undefined {
    const found = this.members.find(
      (member) => isNamed(member, server) && member.status === 'alive',
    )
    return found === undefined || found.address === this.#advertised ? undefined : found.address
  }

  #newRoll(): RollKeeper {
    const { config, log, version, database } = this.#options
    const { name, region, datacenter } = config
    const id = this.#timing.ids.uuid()
    return new RollKeeper({
      store: database.roll,
      entry: () => ({ id, name, address: this.#advertised, region, datacenter, build: version }),
      clock: this.#timing.clock,
      failed: (thrown) => log.debug({ err: errorMessage(thrown) }, 'the roll could not be signed'),
    })
  }

  #newTeller(what: string, done: string): TroubleTeller {
    const { log } = this.#options
    return new TroubleTeller({
      monotonicMs: this.#timing.monotonicMs,
      tell: (err) => log.warn({ err }, `${what} could not be ${done}`),
      over: (lastedMs) => log.info({ lastedMs }, `${what} can be ${done} again`),
    })
  }

  /** Gives the lease back last: nobody leads before everything of this server is written. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#opened?.closing.abort()
    this.#cancelLossesLook()
    this.#roll.leave()
    await this.#changing
    const opened = this.#opened
    if (opened !== undefined) await this.#close(opened)
    await this.#portKeeper?.close()
    await this.#roll.stop()
    await this.#options.database.close()
  }

  async #open(): Promise<void> {
    const { config, log, database, secrets, self, version, tls, tracing } = this.#options
    // What is loaded from here on is at least as new as this moment.
    const seenMs = this.#timing.monotonicMs()
    const { history } = this.#losses
    const engine = await database.openEngine(history)
    await this.#compare(engine)
    const gate = new RequestGate({
      leadership: () => ({ isLeading: this.isLeading, leader: this.leader }),
      confirm: async () => this.isLeading && (await this.#opened?.keeper.confirm()) === true,
      staleness: () => this.#staleness(opened.follow),
      self: () => this.#advertised,
      addressOf: (server) => this.#addressOf(server),
      key: secrets.forwardingKey,
      ...(tls !== undefined && peerSecurity(tls)),
      nowMs: () => this.#timing.clock.nowMs(),
    })
    const shared = { config, log, engine, secrets, version, agent: self, tls, tracing }
    const openServer = this.#options.openServer ?? ((options) => Server.open(options))
    const server = await openServer({ ...shared, follows: true, leader: gate })
    const failed = (thrown: unknown): void => this.#failed(opened, thrown)
    const { ids, ...timing } = this.#timing
    const { lease, bell } = database
    const looked = (leader: string): void => gate.leaderChanged(leader)
    const { store } = server
    const followed = ({ losses }: FollowedLog): void => {
      this.#following.worked()
      this.#losses.refresh(losses).catch(failed)
    }
    const shown = { engine, store, history, lease, bell }
    const follow = new FollowLoop({ ...shown, ...timing, seenMs, failed, followed, looked })
    const holder = `${config.name} ${ids.uuid()}`
    const keeper = new LeaseKeeper({
      store: lease,
      holder,
      address: () => this.#advertised,
      applied: () => history.last,
      ...timing,
      changed: (leadership) => this.#changed(opened, leadership),
      failed: (thrown) => this.#leasing.failed(errorMessage(thrown)),
      answered: () => this.#leasing.worked(),
    })
    const closing = new AbortController()
    const opened: Opened = { engine, server, gate, follow, keeper, holder, closing }
    server.onFault((fault) => this.#storageFailed(opened, fault))
    try {
      this.#address = await this.#listen(server)
    } catch (thrown) {
      await this.#close(opened)
      throw thrown
    }
    this.#httpPort = portOf(this.#address)
    this.#opened = opened
    self.serve(this.#address, server)
    follow.start()
    keeper.start(this.#leasePause.ms)
  }

  /**
   * Before anything is loaded: what this process has seen of the log before is compared with the
   * log as it is now.
   */
  async #compare(engine: PostgresEngine): Promise<void> {
    try {
      await this.#losses.compare(engine)
      this.#losses.history.add(engine.openedEntry)
    } catch (thrown) {
      await engine.close()
      throw thrown
    }
  }

  get #advertised(): string {
    const { host, httpPort } = this.#options.config.advertise
    const name = host.includes(':') ? `[${host}]` : host
    return `${name}:${httpPort ?? this.#httpPort}`
  }

  /** Of a server that led and is about to begin anew: it had all of the log when it took over. */
  #staleness({ lastContactMs }: FollowLoop): { lastContactMs: number; knownLeader: boolean } {
    if (this.isLeading) return { lastContactMs: 0, knownLeader: true }
    return { lastContactMs, knownLeader: this.leader !== '' }
  }

  #changed(opened: Opened, leadership: Leadership): void {
    if (leadership.role === 'leader') this.#promote(opened, leadership.term)
    if (leadership.role === 'deposed')
      this.#reopen(opened, new Fault('storage-fenced', 'the lease of this server is over'))
  }

  #failed(opened: Opened, thrown: unknown): void {
    this.#following.failed(errorMessage(thrown))
    const isOver = thrown instanceof Fault && OTHER_LOG.has(thrown.kind)
    if (isOver) this.#reopen(opened, thrown)
  }

  #storageFailed(opened: Opened, fault: Fault): void {
    if (SUSPENDING.has(fault.kind) && this.#serving === 'everything') this.#suspend(opened, fault)
    else this.#reopen(opened, fault)
  }

  /**
   * The database is full, or does not answer commits. What is in memory is what is durable, so this
   * server goes on answering reads as the leader, and takes writes again when the database does.
   */
  #suspend(opened: Opened, fault: Fault): void {
    const { log } = this.#options
    const { server, keeper, closing } = opened
    log.error({ kind: fault.kind }, `${fault.message} Reads go on meanwhile.`)
    this.#turn(async () => {
      await server.pause()
      for (let ms = WRITABLE_LOOK_MS; ; ms = Math.min(2 * ms, WRITABLE_LOOK_MS_MAX)) {
        await this.#pause(ms, closing.signal)
        // Deposed meanwhile: it begins anew.
        if (this.#opened !== opened || this.#isStopped || !keeper.isLeading()) return
        const writable = await opened.engine.isWritable().catch(() => 'no')
        if (writable === 'moved') return this.#reopen(opened, GIVEN_UP)
        if (writable === 'yes') break
      }
      server.store.resume('all')
      server.resume()
      log.info({}, 'the database takes commits again: writes are accepted')
    })
  }

  /** Nobody else writes any more: the rest of the log is read, then the loops start from it. */
  #promote(opened: Opened, term: number): void {
    const { log } = this.#options
    const { server, follow, gate } = opened
    this.#turn(async () => {
      if (this.#opened !== opened || this.#isStopped) return
      const startedMs = this.#timing.monotonicMs()
      try {
        await follow.stop()
        gate.leaderChanged(this.#advertised)
        await follow.catchUp()
        await this.#losses.refresh()
        const { refusal } = this
        if (refusal === undefined) await this.#takeOver(opened, term)
        else server.store.refuseCommits(new Fault('commits-lost', refusal))
        this.#serving = refusal === undefined ? 'everything' : 'reads'
        const nowMs = this.#timing.monotonicMs()
        this.#leasePause.led(nowMs)
        this.#lookAtLossesLater()
        const tookMs = Math.round(nowMs - startedMs)
        log.info({ term, index: server.store.index, tookMs }, 'this server leads')
        if (refusal !== undefined) log.error({ next: ACCEPT_COMMAND }, refusal)
      } catch (thrown) {
        this.#reopen(opened, toFault(thrown))
      }
    })
  }

  async #takeOver({ engine, server, holder }: Opened, term: number): Promise<void> {
    const { checkpoint } = await engine.lead(term, {
      holder,
      applied: this.#losses.history.last,
    })
    await server.lead(checkpoint.upTo)
  }

  #lookAtLossesLater(): void {
    this.#cancelLossesLook = this.#timing.clock.after(LOSSES_LOOK_MS, () => {
      // The storage refuses appends while there is a loss, whether this succeeds or not.
      void this.#lookAtLosses()
        .catch((thrown: unknown) => this.#following.failed(errorMessage(thrown)))
        .finally(() => {
          if (this.#serving !== 'nothing' && !this.#isStopped) this.#lookAtLossesLater()
        })
    })
  }

  /** A leader that nobody tells of losses begins anew when there is one, and leads when none is. */
  async #lookAtLosses(): Promise<void> {
    const opened = this.#opened
    if (opened === undefined) return
    if (opened.engine.hasDiverged)
      return this.#reopen(opened, new Fault(LOG_DIVERGED, 'the database has lost what was written'))
    const losses = await this.#options.database.losses.list()
    const isOpen = losses.some(({ acceptedAtMs }) => acceptedAtMs === undefined)
    if (this.#opened !== opened) return
    if (isOpen && this.#serving === 'everything')
      this.#reopen(opened, new Fault('commits-lost', 'another server has found commits missing'))
    const { leadership } = opened.keeper
    if (isOpen || this.#serving !== 'reads' || leadership.role !== 'leader') return
    this.#turn(async () => {
      if (this.#opened !== opened || this.#serving !== 'reads') return
      try {
        await this.#losses.refresh()
        await this.#takeOver(opened, leadership.term)
        this.#serving = 'everything'
      } catch (thrown) {
        this.#reopen(opened, toFault(thrown))
      }
    })
  }

  /** What is in memory may be ahead of the log, or behind what is left of it: begins anew. */
  #reopen(opened: Opened, fault: Fault): void {
    if (this.#opened !== opened || this.#isStopped) return
    const { log } = this.#options
    this.#opened = undefined
    this.#leasePause.failed(fault.kind, this.#timing.monotonicMs())
    this.#serving = 'nothing'
    this.#cancelLossesLook()
    opened.closing.abort()
    log.warn({ kind: fault.kind }, `${fault.message}; this server begins anew as a follower`)
    opened.engine.abandon()
    opened.server.store.abandon(inDoubt(fault))
    this.#turn(async () => {
      if (KEEPS_STATE.has(fault.kind)) await this.#untilAnswered(opened)
      this.#keepPort()
      await this.#close(opened)
      while (!this.#isStopped) {
        try {
          return await this.#open()
        } catch (thrown) {
          log.error(
            { err: errorMessage(thrown) },
            'this server could not begin anew; it tries again',
          )
          this.#keepPort()
          await this.#pause(REOPEN_MS)
        }
      }
    })
  }

  /**
   * The state in memory is one that the log has had: while the database is away, stale reads are
   * answered from it.
   */
  async #untilAnswered({ server }: Opened): Promise<void> {
    await server.pause()
    const isAway = async (): Promise<boolean> =>
      await this.#options.database.lease.find().then(
        () => false,
        () => true,
      )
    while (!this.#isStopped && (await isAway())) await this.#pause(REOPEN_MS)
  }

  /** Somebody answers on the port meanwhile; where servers are simulated there is none. */
  #keepPort(): void {
    const { config, tls, openServer } = this.#options
    if (openServer !== undefined || this.#isStopped) return
    this.#portKeeper ??= new PortKeeper({ host: config.bind, port: this.#httpPort, tls })
  }

  async #listen(server: MemberServer): Promise<string> {
    const { bind } = this.#options.config
    const keeper = this.#portKeeper
    this.#portKeeper = undefined
    const listen = (): Promise<string> => server.listen(bind, this.#httpPort)
    return await (keeper === undefined ? listen() : keeper.handOver(listen))
  }

  #pause(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#timing.clock.after(ms, resolve)
      signal?.addEventListener('abort', () => (cancel(), resolve()), { once: true })
      if (signal?.aborted === true) resolve()
    })
  }

  /** One change after the other. None of them rejects. */
  #turn(change: () => Promise<void>): void {
    this.#changing = this.#changing.then(change)
  }

  async #close({ engine, server, gate, follow, keeper }: Opened): Promise<void> {
    const note = (thrown: unknown): void =>
      this.#options.log.warn(
        { err: errorMessage(thrown) },
        'a part of this server did not end cleanly',
      )
    await follow.stop().catch(note)
    gate.close()
    await server.stop().catch(note)
    await engine.close().catch(note)
    await keeper.stop().catch(note)
  }
}
