import type { IncomingMessage } from 'node:http'
import { ClusterMember } from '../../src/main/cluster-member.ts'
import type { MemberServer } from '../../src/main/cluster-member-options.ts'
import { describeAgent } from '../../src/main/self.ts'
import type { RequestGate } from '../../src/cluster/index.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { Commit, StorageEngine } from '../../src/state/index.ts'
import { anAgentConfig } from '../../test/build/agent-config.ts'
import { NumberedIds } from '../draws.ts'
import { Leader, type LeaderParts } from '../leader.ts'
import type { SimMemory } from '../memory.ts'
import { DatabaseLink, type DatabaseLinkOptions } from './database-link.ts'
import { SimProcess, type SimProcessOptions } from './sim-process.ts'

const SECRETS = {
  sealingKey: Buffer.alloc(32),
  joinToken: 'join',
  forwardingKey: Buffer.alloc(32),
  keyCheck: '',
}

export interface SimServerOptions extends SimProcessOptions {
  readonly name: string
  readonly link: Omit<DatabaseLinkOptions, 'process' | 'name' | 'world'>
  readonly parts: LeaderParts
  readonly isCalm: () => boolean
  /** Called for all commits that this server publishes, in order; first with its start index. */
  readonly opened: (server: SimServer, index: number) => void
  readonly revealed: (server: SimServer, commits: readonly Commit[]) => void
  /** The process has exited by itself. */
  readonly ended: (server: SimServer) => void
}

/** The parts of a server that are recreated on each start. */
export interface OpenedServer {
  readonly leader: Leader
  readonly gate: RequestGate
}

/** The server's view of the cluster. */
interface Standing {
  readonly leader: () => string
  readonly isLeading: () => boolean
  readonly acceptLoss: (by: string) => Promise<unknown>
}

/** Expected reasons for a server to restart; any other is a bug. */
const FAIR_REASONS = [
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
  readonly #ids: NumberedIds
  #process: SimProcess
  #link: DatabaseLink | undefined
  #member: ClusterMember | undefined
  #opened: OpenedServer | undefined
  #standing: Standing | undefined
  #starts = 0

  constructor(options: SimServerOptions) {
    this.name = options.name
    this.address = `${options.name}:1`
    this.#options = options
    this.#ids = new NumberedIds(options.name.replace(/\D/g, ''))
    this.#process = new SimProcess(options)
    this.#process.die()
  }

  get process(): SimProcess {
    return this.#process
  }

  get opened(): OpenedServer | undefined {
    return this.#process.isDead ? undefined : this.#opened
  }

  /** Whether the server would claim to lead right now. */
  get isLeading(): boolean {
    return !this.#process.isDead && this.#standing?.isLeading() === true
  }

  /** Address of the leader known to this server; empty if there is none. */
  get knownLeader(): string {
    return this.#standing?.leader() ?? ''
  }

  /** Accepts the loss of commits, as an operator would. */
  async acceptLoss(): Promise<void> {
    await this.#standing?.acceptLoss('operator')
  }

  /** The leader instance if this server leads right now. */
  get leading(): Leader | undefined {
    if (!this.#process.isRunning || !this.isLeading) return undefined
    const leader = this.opened?.leader
    return leader?.store.fault === undefined ? leader : undefined
  }

  start(): void {
    if (!this.#process.isDead) return
    const { world, rate, skew, link } = this.#options
    const process = new SimProcess({ world, rate, skew })
    this.#starts += 1
    this.#process = process
    this.#opened = undefined
    this.#standing = undefined
    const name = `${this.name}#${this.#starts}`
    this.#link = new DatabaseLink({ ...link, world, process, name })
    this.#say('starts')
    this.#join(process, this.#link).catch((thrown: unknown) => {
      if (process.isDead) return
      this.#say(`could not start: ${errorMessage(thrown)}`)
      this.kill()
      this.#options.ended(this)
    })
  }

  async #join(process: SimProcess, database: DatabaseLink): Promise<void> {
    const config = { ...anAgentConfig(), name: this.name }
    const self = describeAgent(config, '')
    const member = await ClusterMember.start({
      config: { ...config, advertise: { ...config.advertise, host: this.name, httpPort: 1 } },
      log: this.#log(process),
      version: '',
      self: {
        ...self,
        join: (standing) => {
          if (this.#process === process) this.#standing = standing
        },
        serve: () => undefined,
      },
      database,
      secrets: SECRETS,
      openServer: ({ engine, leader: gate }) => this.#open({ process, engine, gate }),
      timing: { clock: process, monotonicMs: () => process.monotonicMs(), ids: this.#ids },
    })
    if (this.#process === process) this.#member = member
  }

  async #open({ process, engine, gate }: Opening): Promise<MemberServer> {
    const { parts, opened, revealed, isCalm } = this.#options
    const leader = await Leader.open({
      ...parts,
      engine,
      clock: process,
      memory: this.memory,
      follows: true,
      revealed: (commits) => {
        if (!process.isDead) revealed(this, commits)
      },
      failed: () => undefined,
    })
    if (isCalm()) leader.calm()
    if (this.#process === process) this.#opened = { leader, gate }
    opened(this, leader.store.index)
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
    this.#process.enter(() => this.opened?.leader.checkMemory())
  }

  kill(): void {
    this.#opened?.leader.die()
    this.#process.die()
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
  ring(rung: 'log' | 'lease'): void {
    if (!this.#process.isDead) this.#link?.ring(rung)
  }

  #say(text: string): void {
    this.#options.parts.say(`${this.name} ${text}`)
  }

  #log(process: SimProcess) {
    const note = (fields: object, message: string): void => {
      if (process.isDead) return
      this.#say(`${message} ${JSON.stringify(fields)}`)
      const [, reason] = /^(.*); this server begins anew as a follower$/.exec(message) ?? []
      if (reason !== undefined && !FAIR_REASONS.some((fair) => fair.test(reason)))
        this.#options.parts.mistake(reason)
    }
    return { debug: () => undefined, info: note, warn: note, error: note }
  }
}

interface Opening {
  readonly process: SimProcess
  readonly engine: StorageEngine
  readonly gate: RequestGate
}

/** A request for the gate. */
export function aRequest(method: string, url: string): IncomingMessage {
  // Proof: the gate reads no other properties.
  return { method, url, headers: {} } as IncomingMessage
}
