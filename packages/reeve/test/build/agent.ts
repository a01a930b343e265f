import {
  memoryChannelPair,
  memoryStorage,
  NodeAgent,
  type AgentStorage,
  type Channel,
  type Dialer,
  type Fingerprint,
  type Logger,
  type NodeSettings,
  type TaskDriver,
  type VolumeSettings,
} from '../../src/agent/index.ts'
import type {
  AgentAllocation,
  AgentJob,
  AgentTask,
  AgentTaskGroup,
  Assignment,
} from '../../src/agent/assignment.ts'
import type {
  AllocationUpdate,
  HelloMessage,
  ReportedService,
  ServicesMessage,
  TaskState,
} from '@reeve/contract'
import type { Clock, IdSource, Random } from '@reeve/kit/clock.ts'
import type { LogFeed } from '@reeve/kit/log-feed.ts'
import { MockDriver } from '../../src/drivers/index.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { expandTaskStates } from '../../src/model/index.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'

/** Says nothing; what tests are about is in states and messages. */
export const SILENT_LOG: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/** The machine's own clock, for tests with real processes. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, wake) => {
    const timer = setTimeout(wake, delayMs)
    return () => clearTimeout(timer)
  },
}

export const NODE_ID = '00000000-0000-4000-8000-0000000000aa'

/** Tests run beside each other, and processes are told to be a task's by its allocation. */
const OURS = process.pid.toString(16).padStart(8, '0')

/** The n-th of a row of allocation identifiers, which no other process has. */
export function allocationId(n: number): string {
  return `${OURS}-0000-4000-8000-${String(n).padStart(12, '0')}`
}

/** The smallest task: a mock one that runs until it is stopped and is never started twice. */
export function aTask(fields: Partial<AgentTask> = {}): AgentTask {
  return {
    Name: 'web',
    Driver: 'mock',
    User: '',
    Config: {},
    Env: null,
    Meta: null,
    KillTimeout: nsFromMs(5_000),
    KillSignal: '',
    ShutdownDelay: 0,
    Leader: false,
    Lifecycle: null,
    LogConfig: { Disabled: false, MaxFiles: 10, MaxFileSizeMB: 10 },
    RestartPolicy: restartPolicy({ Attempts: 0 }),
    DispatchPayload: null,
    Resources: { CPU: 100, Cores: 0, MemoryMB: 300, MemoryMaxMB: 0 },
    ...fields,
  }
}

export function restartPolicy(
  fields: Partial<AgentTask['RestartPolicy']> = {},
): AgentTask['RestartPolicy'] {
  return {
    Attempts: 2,
    Interval: nsFromMs(1_800_000),
    Delay: nsFromMs(15_000),
    Mode: 'fail',
    RenderTemplates: false,
    ...fields,
  }
}

export interface AssignmentFields {
  readonly tasks?: readonly AgentTask[]
  readonly job?: Partial<AgentJob>
  readonly group?: Partial<AgentTaskGroup>
  readonly allocation?: Partial<AgentAllocation>
}

/** One allocation that should run, with its job. */
export function anAssignment(fields: AssignmentFields = {}): Assignment {
  const group: AgentTaskGroup = {
    Name: 'group',
    Meta: null,
    Networks: null,
    ShutdownDelay: null,
    MaxRunDuration: null,
    ...fields.group,
    Tasks: fields.tasks ?? [aTask()],
  }
  const job: AgentJob = {
    ID: 'job',
    Name: 'job',
    ParentID: '',
    Type: 'service',
    Region: 'global',
    Payload: null,
    Meta: null,
    ...fields.job,
    TaskGroups: [group],
  }
  return { allocation: anAllocation(fields.allocation), job, group }
}

function anAllocation(fields: Partial<AgentAllocation> = {}): AgentAllocation {
  return {
    ID: allocationId(1),
    Name: 'job.group[0]',
    Namespace: 'default',
    TaskGroup: 'group',
    DesiredStatus: 'run',
    DesiredDescription: '',
    DesiredTransition: {
      Migrate: null,
      Reschedule: null,
      ForceReschedule: null,
      NoShutdownDelay: null,
      MigrateDisablePlacement: null,
    },
    ClientStatus: 'pending',
    PreviousAllocation: '',
    PreemptedAllocations: null,
    AllocatedResources: {
      Tasks: {},
      TaskLifecycles: {},
      Shared: { Networks: null, DiskMB: 300, Ports: null },
    },
    AllocModifyIndex: 10,
    CreateTime: nsFromMs(Date.parse('2026-01-01T00:00:00Z')),
    ...fields,
  }
}

/** The same allocation after the servers changed their mind. */
export function stopped(assignment: Assignment): Assignment {
  const allocation: AgentAllocation = { ...assignment.allocation, DesiredStatus: 'stop' }
  return { ...assignment, allocation }
}

/** Lets everything that is due happen; nothing in memory takes longer than this. */
export async function turn(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve))
}

/** Lets simulated time pass in steps, so that timers set by what happens meanwhile are kept. */
export async function pass(
  clock: { advance(byMs: number): void },
  forMs: number,
  stepMs = Math.max(1, Math.ceil(forMs / 100)),
): Promise<void> {
  await turn()
  for (let left = forMs; left > 0; left -= stepMs) {
    clock.advance(Math.min(stepMs, left))
    await turn()
  }
}

/** Identifiers 1, 2, 3, … and draws that are always the same. */
export function countingIds(): IdSource {
  let last = 0
  return { uuid: () => `00000000-0000-4000-9000-${String((last += 1)).padStart(12, '0')}` }
}

const steadyRandom: Random = { next: () => 0 }

/** What an agent said of an allocation, with the zero values that it left out on the way. */
interface ToldUpdate extends AllocationUpdate {
  readonly TaskStates: Readonly<Record<string, TaskState>> | null
}

/**
 * A server as an agent sees it, in memory: answers greetings, heartbeats and reports, and remembers
 * them.
 */
export class FakeServer {
  readonly hellos: HelloMessage[] = []
  /** Every message of the agents, as it came. */
  readonly received: Record<string, unknown>[] = []
  /** What each allocation offers; those that offer nothing are not in it. */
  readonly services = new Map<string, readonly ReportedService[]>()
  /** The latest word on each allocation. */
  readonly updates = new Map<string, ToldUpdate>()
  readonly #desired = new Map<string, Assignment>()
  readonly #waiting: { readonly isMet: () => boolean; readonly resolve: () => void }[] = []
  /** The channel of the latest agent. */
  channel: Channel | undefined
  dials = 0
  isReachable = true
  /** False: reports get no receipt until `acknowledge`. */
  acknowledges = true
  answersHeartbeats = true
  /** How often it wants to hear from agents. */
  heartbeatMs = 10_000
  refusal = ''
  /** What its welcome says of it; nothing, as a server of an earlier version does. */
  region: string | undefined
  #unacknowledged: number[] = []

  readonly dial: Dialer = () => {
    this.dials += 1
    if (!this.isReachable) return Promise.reject(new Error('nobody is there'))
    const [agentEnd, ownEnd] = memoryChannelPair()
    this.channel = ownEnd
    ownEnd.onMessage((text) => this.#receive(ownEnd, text))
    return Promise.resolve(agentEnd)
  }

  /** Wants these allocations from now on, and says so to a connected agent. */
  assign(...assignments: readonly Assignment[]): void {
    for (const assignment of assignments) {
      this.#desired.set(assignment.allocation.ID, assignment)
    }
    this.send({
      kind: 'desired',
      full: false,
      index: 1,
      allocations: assignments.map(entry),
      removed: [],
    })
  }

  /** Forgets an allocation. */
  remove(id: string): void {
    this.#desired.delete(id)
    this.send({ kind: 'desired', full: false, index: 1, allocations: [], removed: [id] })
  }

  /** Forgets without a word, as when it happens while the agent is away. */
  forget(id: string): void {
    this.#desired.delete(id)
  }

  send(message: object): void {
    this.channel?.send(JSON.stringify(message))
  }

  acknowledge(): void {
    for (const seq of this.#unacknowledged.splice(0)) this.send({ kind: 'ack', seq })
  }

  /**
   * Resolves when the condition holds after some message; for tests with real processes, with a
   * deadline.
   */
  async until(what: string, isMet: () => boolean, withinMs = 120_000): Promise<void> {
    if (isMet()) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ isMet, resolve })
    const timer = setTimeout(() => reject(new Error(`waited in vain for ${what}`)), withinMs)
    await promise.finally(() => clearTimeout(timer))
  }

  statusOf(id: string): string | undefined {
    return this.updates.get(id)?.ClientStatus
  }

  /** The types of a task's events, oldest first. */
  eventsOf(id: string, task: string): readonly string[] {
    return this.updates.get(id)?.TaskStates?.[task]?.Events.map((event) => event.Type) ?? []
  }

  #receive(channel: Channel, text: string): void {
    const message = JSON.parse(text)
    this.received.push(message)
    switch (message.kind) {
      case 'hello':
        this.hellos.push(message)
        this.#greet(channel)
        break
      case 'heartbeat':
        if (this.answersHeartbeats) this.send({ kind: 'heartbeat', heartbeatMs: this.heartbeatMs })
        break
      case 'services':
        this.#catalogue(message)
        break
      case 'status':
        for (const update of message.updates)
          this.updates.set(update.ID, {
            ...update,
            TaskStates: expandTaskStates(update.TaskStates),
          })
        if (this.acknowledges) this.send({ kind: 'ack', seq: message.seq })
        else this.#unacknowledged.push(message.seq)
        break
    }
    for (const waiting of this.#waiting) if (waiting.isMet()) waiting.resolve()
  }

  #catalogue({ seq, sets, all }: ServicesMessage): void {
    for (const { allocation, services } of sets) this.services.set(allocation, services)
    for (const id of this.services.keys())
      if (this.services.get(id)?.length === 0 || all?.includes(id) === false)
        this.services.delete(id)
    this.send({ kind: 'services-ack', seq })
  }

  #greet(channel: Channel): void {
    if (this.refusal !== '') {
      channel.send(JSON.stringify({ kind: 'refuse', message: this.refusal }))
      channel.close()
      return
    }
    const serverTimeMs = Date.parse('2026-01-01')
    const { heartbeatMs, region } = this
    this.send({ kind: 'welcome', heartbeatMs, serverTimeMs, region })
    const allocations = [...this.#desired.values()].map(entry)
    this.send({ kind: 'desired', full: true, index: 1, allocations, removed: [] })
  }
}

function entry({ allocation, job }: Assignment): object {
  return { allocation, job }
}

const aFingerprint: Fingerprint = {
  Attributes: { 'kernel.name': 'linux', 'cpu.arch': 'amd64' },
  NodeResources: {
    Cpu: { CpuShares: 4_000, TotalCpuCores: 2, ReservableCpuCores: [0, 1] },
    Processors: null,
    Memory: { MemoryMB: 8_192 },
    Disk: { DiskMB: 100_000 },
    Devices: null,
    NodeNetworks: null,
    Networks: null,
    MinDynamicPort: 20_000,
    MaxDynamicPort: 32_000,
  },
}

const someSettings: NodeSettings = {
  Name: 'node-1',
  Region: 'global',
  Datacenter: 'dc1',
  NodePool: 'default',
  NodeClass: '',
  HTTPAddr: '127.0.0.1:4646',
  TLSEnabled: false,
  Meta: { rack: 'r1' },
  ReservedResources: {
    Cpu: { CpuShares: 0, ReservedCpuCores: null },
    Memory: { MemoryMB: 0 },
    Disk: { DiskMB: 0 },
    Networks: { ReservedHostPorts: '' },
  },
  HostVolumes: null,
}

interface AgentFields {
  readonly dial: Dialer
  readonly clock: Clock
  readonly drivers: readonly TaskDriver[]
  readonly storage?: AgentStorage
  readonly joinToken?: string
  readonly allowsExec?: boolean
  /** The log that callers may follow; none unless given. */
  readonly feed?: LogFeed
  readonly volumes?: VolumeSettings
  /** Counting ones unless given; two nodes of one server need their own. */
  readonly ids?: IdSource
}

/** An agent on the given server and clock; in memory unless a storage is given. */
export function anAgent(fields: AgentFields): NodeAgent {
  const { dial, clock, drivers, joinToken, allowsExec, feed, volumes } = fields
  return new NodeAgent({
    settings: someSettings,
    storage: fields.storage ?? someMemoryStorage(),
    drivers,
    clock,
    random: steadyRandom,
    ids: fields.ids ?? countingIds(),
    log: SILENT_LOG,
    dial,
    probe: () => Promise.resolve(aFingerprint),
    ...(joinToken === undefined ? {} : { joinToken }),
    ...(allowsExec === undefined ? {} : { allowsExec }),
    ...(feed === undefined ? {} : { feed }),
    ...(volumes === undefined ? {} : { volumes }),
  })
}

export function someMemoryStorage(): AgentStorage {
  return memoryStorage({
    nodeId: NODE_ID,
    secret: '00000000-0000-4000-8000-0000000000bb',
    bootId: 'boot-1',
  })
}

export function mockDriver(clock: Clock): MockDriver {
  return new MockDriver({ clock })
}

export interface Simulation {
  readonly clock: SimulatedClock
  readonly server: FakeServer
  readonly driver: MockDriver
  readonly agent: NodeAgent
}

interface SimulationFields extends Partial<Omit<Simulation, 'agent'>> {
  readonly assignments?: readonly Assignment[]
  readonly storage?: AgentStorage
}

/**
 * A started agent with the mock driver on a simulated clock, connected to a server that wants these
 * allocations.
 */
export async function aSimulation(options: SimulationFields = {}): Promise<Simulation> {
  const clock = options.clock ?? new SimulatedClock()
  const server = options.server ?? new FakeServer()
  const driver = options.driver ?? new MockDriver({ clock })
  if (options.assignments !== undefined) server.assign(...options.assignments)
  const storage = options.storage ?? someMemoryStorage()
  const agent = anAgent({ dial: server.dial, clock, drivers: [driver], storage })
  await agent.start()
  await turn()
  return { clock, server, driver, agent }
}
