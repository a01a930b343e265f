import type { IncomingMessage } from 'node:http'
import { ClusterMember } from '../../src/main/cluster-member.ts'
import type { MemberServer } from '../../src/main/cluster-member-options.ts'
import { createAgentStatus } from '../../src/main/agent-status.ts'
import type { ClusterRequestRouter } from '../../src/cluster/index.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { Commit, StorageEngine } from '../../src/state/index.ts'
import { anAgentConfig } from '../../test/build/agent-config.ts'
import { SequentialIds } from '../random-stream.ts'
import { SimLeader, type LeaderParts } from '../sim-leader.ts'
import type { SimMemory } from '../memory.ts'
import { DatabaseLink, type DatabaseLinkOptions } from './database-link.ts'
import { SimProcess, type SimProcessOptions } from './sim-process.ts'

const SECRETS = {
  sealingKey: Buffer.alloc(32),
  joinToken: 'join',
  forwardingKey: Buffer.alloc(32),
  keyFingerprint: '',
}

export interface SimServerOptions extends SimProcessOptions {
  readonly name: string
  readonly link: Omit<DatabaseLinkOptions, 'process' | 'name' | 'virtualClock'>
  readonly leaderParts: LeaderParts
  readonly areFaultsStopped: () => boolean
  /** Called for all commits that this server publishes, in order; first with its start index. */
  readonly onOpened: (server: SimServer, index: number) => void
  readonly onPublished: (server: SimServer, commits: readonly Commit[]) => void
  /** The process has exited by itself. */
  readonly onExit: (server: SimServer) => void
}

/** The parts of a server that are recreated on each start. */
export interface OpenServer {
  readonly leader: SimLeader
  readonly gate: ClusterRequestRouter
}

/** The server's view of the cluster. */
interface LeaderView {
  readonly leader: () => string
  readonly isLeading: () => boolean
  readonly acceptLoss: (by: string) => Promise<unknown>
}

/** Expected reasons for a server to restart; any other is a bug. */
const EXPECTED_RESTART_REASONS = [
  /^The database /,
  /^Another server has taken over/,
  /^the lease of this server is over/,
  /^the database does not hold log entry/,
  /^another server has found commits missing/,
  /^the database has lost what was written/,
  /^the log begins after what this server has seen/,
]

/**
 * A machine with a server: `ClusterMember` with lease, following, gate, engine and retries as in
 * the product, on a simulated database and without HTTP.
 */
export class SimServer {
  readonly name: string
  readonly address: string
  readonly memory: SimMemory = { share: 0 }
  readonly #options: SimServerOptions
  readonly #ids: SequentialIds
  #process: SimProcess
  #link: DatabaseLink | undefined
  #member: ClusterMember | undefined
  #current: OpenServer | undefined
  #leaderView: LeaderView | undefined
  #starts = 0

  constructor(options: SimServerOptions) {
    this.name = options.name
    this.address = `${options.name}:1`
    this.#options = options
    this.#ids = new SequentialIds(options.name.replace(/\D/g, ''))
    this.#process = new SimProcess(options)
    this.#process.kill()
  }

  get process(): SimProcess {
    return this.#process
  }

  get openServer(): OpenServer | undefined {
    return this.#process.isDead ? undefined : this.#current
  }

  /** Whether the server would claim to lead right now. */
  get isLeading(): boolean {
    return !this.#process.isDead && this.#leaderView?.isLeading() === true
  }

  /** Address of the leader known to this server; empty if there is none. */
  get knownLeader(): string {
    return this.#leaderView?.leader() ?? ''
  }

  /** Accepts the loss of commits, as an operator would. */
  async acceptLoss(): Promise<void> {
    await this.#leaderView?.acceptLoss('operator')
  }

  /** The leader instance if this server leads right now. */
  get leading(): SimLeader | undefined {
    if (!this.#process.isRunning || !this.isLeading) return undefined
    const leader = this.openServer?.leader
    return leader?.store.fault === undefined ? leader : undefined
  }

  start(): void {
    if (!this.#process.isDead) return
    const { virtualClock, rate, skew, link } = this.#options
    const process = new SimProcess({ virtualClock, rate, skew })
    this.#starts += 1
    this.#process = process
    this.#current = undefined
    this.#leaderView = undefined
    const name = `${this.name}#${this.#starts}`
    this.#link = new DatabaseLink({ ...link, virtualClock, process, name })
    this.#trace('starts')
    this.#startMember(process, this.#link).catch((thrown: unknown) => {
      if (process.isDead) return
      this.#trace(`could not start: ${errorMessage(thrown)}`)
      this.kill()
      this.#options.onExit(this)
    })
  }

  async #startMember(process: SimProcess, database: DatabaseLink): Promise<void> {
    const config = { ...anAgentConfig(), name: this.name }
    const self = createAgentStatus(config, '')
    const member = await ClusterMember.start({
      config: { ...config, advertise: { ...config.advertise, host: this.name, httpPort: 1 } },
      log: this.#log(process),
      version: '',
      status: {
        ...self,
        setCluster: (standing) => {
          if (this.#process === process) this.#leaderView = standing
        },
        setServer: () => undefined,
      },
      database,
      secrets: SECRETS,
      openServer: ({ engine, leader: gate }) => this.#openServer({ process, engine, gate }),
      timing: { clock: process, monotonicMs: () => process.monotonicMs(), ids: this.#ids },
    })
    if (this.#process === process) this.#member = member
  }

  async #openServer({ process, engine, gate }: OpenServerInput): Promise<MemberServer> {
    const { leaderParts, onOpened, onPublished, areFaultsStopped } = this.#options
    const leader = await SimLeader.open({
      ...leaderParts,
      engine,
      clock: process,
      memory: this.memory,
      follows: true,
      onDurable: (commits) => {
        if (!process.isDead) onPublished(this, commits)
      },
      onStorageFailed: () => undefined,
    })
    if (areFaultsStopped()) leader.stopFaults()
    if (this.#process === process) this.#current = { leader, gate }
    onOpened(this, leader.store.index)
    return {
      store: leader.store,
      onFault: (tell) => leader.onFault(tell),
      listen: async () => `http://${this.address}`,
      lead: (upTo) => leader.lead(upTo),
      pause: () => leader.pause(),
      resume: () => leader.resume(),
      stop: () => leader.stop(),
    }
  }

  checkMemory(): void {
    this.#process.deliver(() => this.openServer?.leader.checkMemory())
  }

  kill(): void {
    this.#current?.leader.kill()
    this.#process.kill()
    this.#member = undefined
  }

  /**
   * Stops the server gracefully, which releases the lease. Resolves when the process has exited.
   */
  async stop(): Promise<void> {
    const process = this.#process
    await this.#member?.stop()
    if (this.#process === process) this.kill()
  }

  /** Notifies the server of a write, which it may not receive. */
  notify(change: 'log' | 'lease'): void {
    if (!this.#process.isDead) this.#link?.notify(change)
  }

  #trace(text: string): void {
    this.#options.leaderParts.trace(`${this.name} ${text}`)
  }

  #log(process: SimProcess) {
    const logLine = (fields: object, message: string): void => {
      if (process.isDead) return
      this.#trace(`${message} ${JSON.stringify(fields)}`)
      const [, reason] = /^(.*); this server restarts as a follower$/.exec(message) ?? []
      if (reason !== undefined && !EXPECTED_RESTART_REASONS.some((pattern) => pattern.test(reason)))
        this.#options.leaderParts.onBug(reason)
    }
    return { debug: () => undefined, info: logLine, warn: logLine, error: logLine }
  }
}

interface OpenServerInput {
  readonly process: SimProcess
  readonly engine: StorageEngine
  readonly gate: ClusterRequestRouter
}

/** A request for the gate. */
export function fakeRequest(method: string, url: string): IncomingMessage {
  // Proof: the gate reads no other properties.
  return { method, url, headers: {} } as IncomingMessage
}
