import {
  ACCEPT_COMMAND,
  assertAdjacentVersions,
  describeRejectedWrites,
  matchesServerName,
  LOG_DIVERGED,
  LossMonitor,
  countLostCommits,
  clusterMembers,
  ServerHeartbeat,
  type CommitLoss,
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
  ABANDONED_COMMIT_FAULT,
  outcomeUnknown,
  STATE_KEEPING_FAULTS,
  DIVERGED_LOG_FAULTS,
  SUSPENDING_FAULTS,
  toFault,
  LeaseBackoff,
} from './cluster-member-options.ts'
import { closeMember, openMember, type MemberHandlers, type OpenedMember } from './opened-member.ts'
import { PlaceholderServer } from './placeholder-server.ts'
import { portOf } from './config/address.ts'
import { OutageLog } from './outage-log.ts'

/** Delay before the next attempt if the database is unreachable or the port is in use. */
const REOPEN_INTERVAL_MS = 1_000
/** The start is announced as soon as a server leads, at the latest after this time. */
const LEADER_WAIT_MS_MAX = 5_000
const POLL_MS = 20
/** How often a leader checks whether a commit loss was recorded or accepted by another server. */
const LOSSES_POLL_MS = 1_000
/**
 * First delay between checks whether the database accepts commits again; doubles with each check.
 */
const WRITABLE_POLL_MS = 1_000
const WRITABLE_POLL_MS_MAX = 15_000

/** What a server with the lease does: nothing yet, only reads, or everything. */
type ServingMode = 'nothing' | 'reads' | 'everything'

/**
 * One server of a cluster with shared state. It follows the log, takes the lease when it is free,
 * and leads. After losing leadership it reopens, because its memory may be ahead of the log
 * (decision 0031).
 */
export class ClusterMember {
  readonly #options: ClusterMemberOptions
  readonly #timing: MemberTiming
  readonly #roll: ServerHeartbeat
  readonly #followOutages: OutageLog
  readonly #leaseOutages: OutageLog
  readonly #losses: LossMonitor
  #opened: OpenedMember | undefined
  /** What this server does as the leader. */
  #servingMode: ServingMode = 'nothing'
  #cancelLossCheck: () => void = () => undefined
  readonly #leasePause = new LeaseBackoff()
  #isStopped = false
  #placeholder: PlaceholderServer | undefined
  #httpPort: number
  #address = ''
  #transitions: Promise<void> = Promise.resolve()

  private constructor(options: ClusterMemberOptions) {
    this.#options = options
    this.#timing = options.timing ?? SYSTEM_TIMING
    this.#httpPort = options.config.ports.http
    this.#roll = this.#createRegistry()
    this.#followOutages = this.#createOutageLog('the log of the cluster', 'followed')
    this.#leaseOutages = this.#createOutageLog('the lease of the cluster', 'asked for')
    const { config, log, database } = options
    const { losses: store, name } = database
    this.#losses = new LossMonitor({ store, database: name, name: config.name, log })
  }

  /** Resolves when this server or another one answers requests. */
  static async start(options: ClusterMemberOptions): Promise<ClusterMember> {
    const member = new ClusterMember(options)
    const { config, database, secrets, status } = options
    await database.assertSameCluster({
      keyFingerprint: secrets.keyFingerprint,
      previousFingerprints: secrets.previousFingerprints,
      region: config.region,
    })
    await assertAdjacentVersions(database.servers, member.#roll.self)
    status.setCluster({
      leader: () => member.leader,
      isLeading: () => member.isLeading,
      members: () => member.members,
      writeRefusal: () => member.writeRefusal,
      outage: () => member.outage,
      commitsLost: () => member.#losses.commitsLost,
      acceptLoss: (by) => member.acceptLoss(by),
      retire: (name, prune) => member.#roll.retire(name, prune),
    })
    await member.#open()
    await member.#roll.start()
    await member.#waitForLeader()
    return member
  }

  /** Waits until a server leads; returns after a time limit, and logs that no server leads. */
  async #waitForLeader(): Promise<void> {
    for (let waitedMs = 0; this.leader === '' && waitedMs < LEADER_WAIT_MS_MAX; waitedMs += POLL_MS)
      await this.#pause(POLL_MS)
  }

  /** The bound address as `http://host:port`. */
  get httpAddress(): string {
    return this.#address
  }

  get isLeading(): boolean {
    return this.#servingMode !== 'nothing' && this.#opened?.leaseKeeper.isLeading() === true
  }

  /** Why the cluster rejects writes after a loss of commits; undefined without a loss. */
  get writeRefusal(): string | undefined {
    const { openLoss } = this.#losses
    return openLoss === undefined
      ? undefined
      : describeRejectedWrites(openLoss, this.#options.database.name)
  }

  /** Why no server leads, if this server knows the reason. */
  get outage(): string | undefined {
    const { current } = this.#leaseOutages
    if (current === undefined) return undefined
    const { name } = this.#options.database
    return `the database ${name} has not answered for ${Math.round(current.lastedMs / 1_000)} s`
  }

  /**
   * Accepts the loss of commits, so that the cluster continues without them. Returns the losses
   * that were not accepted before.
   */
  async acceptLoss(by: string): Promise<readonly CommitLoss[]> {
    const { database, log } = this.#options
    const accepted = await database.losses.accept(by)
    for (const loss of accepted)
      log.warn(
        { by, lost: countLostCommits(loss), fromIndex: loss.fromIndex, toIndex: loss.toIndex },
        'the loss of commits was accepted: the log continues without them',
      )
    await this.#checkLosses()
    await this.#transitions
    return accepted
  }

  /** Advertised `host:port` of the leader; empty without a leader. */
  get leader(): string {
    if (this.isLeading) return this.#advertisedAddress
    const found = this.#opened?.follower.leader
    // This server holds the lease but does not lead yet.
    return found === undefined || found.address === this.#advertisedAddress ? '' : found.address
  }

  /** All known servers of the cluster. */
  get members(): readonly Member[] {
    return clusterMembers({
      self: this.#roll.self,
      servers: this.#roll.servers,
      leaderAddress: this.leader,
    })
  }

  /** Returns the address of a reachable server by its name, with or without the region. */
  #addressOf(server: string): string | undefined {
    const found = this.members.find(
      (member) => matchesServerName(member, server) && member.status === 'alive',
    )
    return found === undefined || found.address === this.#advertisedAddress
      ? undefined
      : found.address
  }

  #createRegistry(): ServerHeartbeat {
    const { config, log, version, database } = this.#options
    const { name, region, datacenter } = config
    const id = this.#timing.ids.uuid()
    return new ServerHeartbeat({
      store: database.servers,
      record: () => ({
        id,
        name,
        address: this.#advertisedAddress,
        region,
        datacenter,
        build: version,
      }),
      clock: this.#timing.clock,
      onError: (thrown) => log.debug({ err: errorMessage(thrown) }, 'the roll could not be signed'),
    })
  }

  #createOutageLog(what: string, done: string): OutageLog {
    const { log } = this.#options
    return new OutageLog({
      monotonicMs: this.#timing.monotonicMs,
      onFailure: (err) => log.warn({ err }, `${what} could not be ${done}`),
      onRecovery: (lastedMs) => log.info({ lastedMs }, `${what} can be ${done} again`),
    })
  }

  /**
   * Releases the lease last, so that no other server leads before all commits of this one are
   * written.
   */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#opened?.closing.abort()
    this.#cancelLossCheck()
    this.#roll.announceLeaving()
    await this.#transitions
    const opened = this.#opened
    if (opened !== undefined) await closeMember(opened, this.#options.log)
    await this.#placeholder?.close()
    await this.#roll.stop()
    await this.#options.database.close()
  }

  async #open(): Promise<void> {
    const { log, database, status } = this.#options
    // Everything that is loaded later is at least as recent as this time.
    const currentAsOfMs = this.#timing.monotonicMs()
    const { history } = this.#losses
    const engine = await database.openEngine(history)
    await this.#compareLog(engine)
    const opened = await openMember(this.#options, {
      timing: this.#timing,
      engine,
      history,
      currentAsOfMs,
      handlers: this.#createHandlers(),
    })
    try {
      this.#address = await this.#listen(opened.server)
    } catch (thrown) {
      await closeMember(opened, log)
      throw thrown
    }
    this.#httpPort = portOf(this.#address)
    this.#opened = opened
    status.setServer(this.#address, opened.server)
    opened.follower.start()
    opened.leaseKeeper.start(this.#leasePause.ms)
  }

  #createHandlers(): MemberHandlers {
    return {
      isLeading: () => this.isLeading,
      leaderAddress: () => this.leader,
      selfAddress: () => this.#advertisedAddress,
      addressOf: (server) => this.#addressOf(server),
      confirmLeadership: async () =>
        this.isLeading && (await this.#opened?.leaseKeeper.confirmLease()) === true,
      onFollowed: (opened, { losses }) => {
        this.#followOutages.succeeded()
        this.#losses.refresh(losses).catch((thrown: unknown) => this.#onFollowError(opened, thrown))
      },
      onFollowError: (opened, thrown) => this.#onFollowError(opened, thrown),
      onLeadershipChange: (opened, leadership) => this.#onLeadershipChange(opened, leadership),
      onLeaseError: (thrown) => this.#leaseOutages.failed(errorMessage(thrown)),
      onLeaseResponse: () => this.#leaseOutages.succeeded(),
      onStorageFault: (opened, fault) => this.#onStorageFault(opened, fault),
    }
  }

  /**
   * Compares the log with what this process has read of it before. Runs before anything is loaded.
   */
  async #compareLog(engine: PostgresEngine): Promise<void> {
    try {
      await this.#losses.compare(engine)
      this.#losses.history.add(engine.openedEntry)
    } catch (thrown) {
      await engine.close()
      throw thrown
    }
  }

  get #advertisedAddress(): string {
    const { host, httpPort } = this.#options.config.advertise
    const name = host.includes(':') ? `[${host}]` : host
    return `${name}:${httpPort ?? this.#httpPort}`
  }

  #onLeadershipChange(opened: OpenedMember, leadership: Leadership): void {
    if (leadership.role === 'leader') this.#promote(opened, leadership.term)
    if (leadership.role === 'deposed')
      this.#reopen(opened, new Fault('storage-fenced', 'the lease of this server is over'))
  }

  #onFollowError(opened: OpenedMember, thrown: unknown): void {
    this.#followOutages.failed(errorMessage(thrown))
    const isOver = thrown instanceof Fault && DIVERGED_LOG_FAULTS.has(thrown.kind)
    if (isOver) this.#reopen(opened, thrown)
  }

  #onStorageFault(opened: OpenedMember, fault: Fault): void {
    if (SUSPENDING_FAULTS.has(fault.kind) && this.#servingMode === 'everything')
      this.#suspend(opened, fault)
    else this.#reopen(opened, fault)
  }

  /**
   * Suspends writes while the database is full or does not accept commits. Everything in memory is
   * durable, so this server keeps leading and answering reads, and resumes writes when the database
   * accepts them.
   */
  #suspend(opened: OpenedMember, fault: Fault): void {
    const { log } = this.#options
    const { server, leaseKeeper, closing } = opened
    log.error({ kind: fault.kind }, `${fault.message} Reads go on meanwhile.`)
    this.#enqueueTransition(async () => {
      await server.pause()
      for (let ms = WRITABLE_POLL_MS; ; ms = Math.min(2 * ms, WRITABLE_POLL_MS_MAX)) {
        await this.#pause(ms, closing.signal)
        // The server has lost the lease in the meantime and reopens.
        if (this.#opened !== opened || this.#isStopped || !leaseKeeper.isLeading()) return
        const writable = await opened.engine.isWritable().catch(() => 'no')
        if (writable === 'moved') return this.#reopen(opened, ABANDONED_COMMIT_FAULT)
        if (writable === 'yes') break
      }
      server.store.resume('all')
      server.resume()
      log.info({}, 'the database takes commits again: writes are accepted')
    })
  }

  /**
   * Becomes the leader: no other server writes any more, so the rest of the log is read and the
   * loops start.
   */
  #promote(opened: OpenedMember, term: number): void {
    const { log } = this.#options
    const { server, follower, gate } = opened
    this.#enqueueTransition(async () => {
      if (this.#opened !== opened || this.#isStopped) return
      const startedMs = this.#timing.monotonicMs()
      try {
        await follower.stop()
        gate.leaderChanged(this.#advertisedAddress)
        await follower.catchUp()
        await this.#losses.refresh()
        const { writeRefusal } = this
        if (writeRefusal === undefined) await this.#takeOver(opened, term)
        else server.store.refuseCommits(new Fault('commits-lost', writeRefusal))
        this.#servingMode = writeRefusal === undefined ? 'everything' : 'reads'
        const nowMs = this.#timing.monotonicMs()
        this.#leasePause.leadershipStarted(nowMs)
        this.#scheduleLossCheck()
        const tookMs = Math.round(nowMs - startedMs)
        log.info({ term, index: server.store.index, tookMs }, 'this server leads')
        if (writeRefusal !== undefined) log.error({ next: ACCEPT_COMMAND }, writeRefusal)
      } catch (thrown) {
        this.#reopen(opened, toFault(thrown))
      }
    })
  }

  async #takeOver({ engine, server, holder }: OpenedMember, term: number): Promise<void> {
    const { checkpoint } = await engine.beginTerm(term, {
      holder,
      applied: this.#losses.history.last,
    })
    await server.lead(checkpoint.upTo)
  }

  #scheduleLossCheck(): void {
    this.#cancelLossCheck = this.#timing.clock.after(LOSSES_POLL_MS, () => {
      // Appends fail while a loss is not accepted, whether or not this check succeeds.
      void this.#checkLosses()
        .catch((thrown: unknown) => this.#followOutages.failed(errorMessage(thrown)))
        .finally(() => {
          if (this.#servingMode !== 'nothing' && !this.#isStopped) this.#scheduleLossCheck()
        })
    })
  }

  /**
   * Checks for losses recorded by others: the leader reopens after a new one and accepts writes
   * again when all are accepted.
   */
  async #checkLosses(): Promise<void> {
    const opened = this.#opened
    if (opened === undefined) return
    if (opened.engine.hasDiverged)
      return this.#reopen(opened, new Fault(LOG_DIVERGED, 'the database has lost what was written'))
    const losses = await this.#options.database.losses.list()
    const isOpen = losses.some(({ acceptedAtMs }) => acceptedAtMs === undefined)
    if (this.#opened !== opened) return
    if (isOpen && this.#servingMode === 'everything')
      this.#reopen(opened, new Fault('commits-lost', 'another server has found commits missing'))
    const { leadership } = opened.leaseKeeper
    if (isOpen || this.#servingMode !== 'reads' || leadership.role !== 'leader') return
    this.#enqueueTransition(async () => {
      if (this.#opened !== opened || this.#servingMode !== 'reads') return
      try {
        await this.#losses.refresh()
        await this.#takeOver(opened, leadership.term)
        this.#servingMode = 'everything'
      } catch (thrown) {
        this.#reopen(opened, toFault(thrown))
      }
    })
  }

  /** Reopens the server, because its memory may be ahead of the log or behind the start of it. */
  #reopen(opened: OpenedMember, fault: Fault): void {
    if (this.#opened !== opened || this.#isStopped) return
    const { log } = this.#options
    this.#opened = undefined
    this.#leasePause.failed(fault.kind, this.#timing.monotonicMs())
    this.#servingMode = 'nothing'
    this.#cancelLossCheck()
    opened.closing.abort()
    log.warn({ kind: fault.kind }, `${fault.message}; this server restarts as a follower`)
    opened.engine.stopRetrying()
    opened.server.store.abortPending(outcomeUnknown(fault))
    this.#enqueueTransition(async () => {
      if (STATE_KEEPING_FAULTS.has(fault.kind)) await this.#waitForDatabase(opened)
      this.#holdPort()
      await closeMember(opened, log)
      while (!this.#isStopped) {
        try {
          return await this.#open()
        } catch (thrown) {
          log.error(
            { err: errorMessage(thrown) },
            'this server could not begin anew; it tries again',
          )
          this.#holdPort()
          await this.#pause(REOPEN_INTERVAL_MS)
        }
      }
    })
  }

  /**
   * Waits for the database. Stale reads are still answered from memory, which is an earlier state
   * of the log.
   */
  async #waitForDatabase({ server }: OpenedMember): Promise<void> {
    await server.pause()
    const isAway = async (): Promise<boolean> =>
      await this.#options.database.lease.read().then(
        () => false,
        () => true,
      )
    while (!this.#isStopped && (await isAway())) await this.#pause(REOPEN_INTERVAL_MS)
  }

  /** Opens the placeholder on the port of the server; simulations have none. */
  #holdPort(): void {
    const { config, tls, openServer } = this.#options
    if (openServer !== undefined || this.#isStopped) return
    this.#placeholder ??= new PlaceholderServer({ host: config.bind, port: this.#httpPort, tls })
  }

  async #listen(server: MemberServer): Promise<string> {
    const { bind } = this.#options.config
    const keeper = this.#placeholder
    this.#placeholder = undefined
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

  /** Runs state changes one after another; the promises never reject. */
  #enqueueTransition(change: () => Promise<void>): void {
    this.#transitions = this.#transitions.then(change)
  }
}
