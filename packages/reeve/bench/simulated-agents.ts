/**
 * Thousands of nodes in one process. Each has a connection of its own and speaks the channel with
 * the code of the real agent; only what runs is made up: an allocation runs a moment after it was
 * assigned. Runs as a child process of cluster.bench.ts, told by messages what to do.
 */
import { randomUUID } from 'node:crypto'
import {
  CHANNEL_VERSION,
  type AllocationUpdate,
  type HelloMessage,
  type NodeRegistration,
} from '@reeve/contract'
import { ServerLink, websocketDial, type Channel, type Dial } from '../src/agent/index.ts'
import { isoFromMs, nsFromMs, ZERO_TIME } from '../src/kit/duration.ts'
import { systemClock, systemRandom } from '../src/main/system.ts'
import { taskStatesView } from '../src/model/index.ts'
import { aNode } from '../test/build/index.ts'
import { machineMs } from './measure.ts'

export type AgentsCommand =
  | ({ readonly kind: 'connect'; readonly address: string; readonly nodes: number } & Joining)
  /** Begins to count: `total` allocations will run. */
  | { readonly kind: 'expect'; readonly total: number }
  | { readonly kind: 'report' }

interface Joining {
  readonly joinToken: string
  readonly startDelayMs: number
}

export interface AgentsReport {
  readonly connected: number
  /** Connections that were lost after they had been made. */
  readonly reconnects: number
  /** Allocations of which the server has confirmed that they run. */
  readonly running: number
  /** When each tenth of the expected ones ran, on the machine's clock. */
  readonly tenthsMs: readonly number[]
  readonly cpuSeconds: number
  /** Texts that came down the channels. */
  readonly receivedChars: number
}

/** More at once would not fit the server's queue of connections that wait to be accepted. */
const DIALLED_AT_ONCE = 200
/** How often the allocations whose time has come are reported. */
const TICK_MS = 5
const TENTHS = 10

let connected = 0
let reconnects = 0
let running = 0
let expected = 0
let receivedChars = 0
const tenthsMs: number[] = []

process.on('message', (command: AgentsCommand) => {
  void obey(command).then(() => process.send?.(report()))
})
process.on('disconnect', () => process.exit())

async function obey(command: AgentsCommand): Promise<void> {
  if (command.kind === 'expect') expected = command.total
  else if (command.kind === 'connect') await connectAll(command)
}

function report(): AgentsReport {
  const { user, system } = process.cpuUsage()
  const cpuSeconds = (user + system) / 1e6
  return { connected, reconnects, running, tenthsMs, cpuSeconds, receivedChars }
}

async function connectAll(command: Extract<AgentsCommand, { kind: 'connect' }>): Promise<void> {
  const starting = new StartingAllocations(command.startDelayMs)
  const dial = websocketDial([command.address])
  for (let at = 0; at < command.nodes; at += DIALLED_AT_ONCE) {
    const count = Math.min(DIALLED_AT_ONCE, command.nodes - at)
    const agents = Array.from({ length: count }, (_, i) => connectOne(at + i))
    await Promise.all(agents)
  }

  async function connectOne(at: number): Promise<void> {
    const welcomed = Promise.withResolvers<void>()
    const agent = new SimulatedAgent({ node: nodeOf(at), joinToken: command.joinToken })
    const link = new ServerLink({
      clock: systemClock,
      random: systemRandom,
      log: QUIET,
      dial: counted(dial),
      hello: () => agent.hello,
      updates: () => agent.updates(),
      welcomed: () => {
        if (agent.isWelcome) reconnects++
        else connected++
        agent.isWelcome = true
        welcomed.resolve()
      },
      desired: ({ allocations, removed }) => {
        for (const id of removed) agent.forget(id)
        for (const entry of allocations) {
          const id = agent.assigned(entry)
          if (id !== undefined) starting.add(() => link.report(agent.started(id)))
        }
      },
    })
    link.start()
    await welcomed.promise
  }
}

const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** Counts what a server confirms. One report is on its way at a time. */
function counted(dial: Dial): Dial {
  return async () => {
    const channel = await dial()
    let inFlight = 0
    return {
      send(text) {
        if (text.startsWith('{"kind":"status"')) inFlight = occurrences(text, '"ClientStatus"')
        channel.send(text)
      },
      onMessage(receive) {
        channel.onMessage((text) => {
          receivedChars += text.length
          if (text.startsWith('{"kind":"ack"')) confirm(inFlight)
          receive(text)
        })
      },
      onClose: (closed) => channel.onClose(closed),
      close: () => channel.close(),
    } satisfies Channel
  }
}

function occurrences(text: string, what: string): number {
  let count = 0
  for (let at = text.indexOf(what); at >= 0; at = text.indexOf(what, at + what.length)) count++
  return count
}

function confirm(count: number): void {
  running += count
  const reached = expected === 0 ? 0 : Math.floor((running * TENTHS) / expected)
  while (tenthsMs.length < Math.min(TENTHS, reached)) tenthsMs.push(machineMs())
}

/** One timer for all nodes: thousands of timers would be most of what this process does. */
class StartingAllocations {
  readonly #delayMs: number
  #waiting: { readonly dueMs: number; readonly start: () => void }[] = []

  constructor(delayMs: number) {
    this.#delayMs = delayMs
    setInterval(() => this.#tick(), TICK_MS)
  }

  add(start: () => void): void {
    this.#waiting.push({ dueMs: performance.now() + this.#delayMs, start })
  }

  #tick(): void {
    const nowMs = performance.now()
    const later = this.#waiting.findIndex(({ dueMs }) => dueMs > nowMs)
    const due = this.#waiting.splice(0, later < 0 ? this.#waiting.length : later)
    for (const { start } of due) start()
  }
}

interface Identity {
  readonly node: NodeRegistration
  readonly joinToken: string
}

/** What one node knows: its identity, and when each of its allocations began. */
class SimulatedAgent {
  readonly hello: HelloMessage
  isWelcome = false
  readonly #startedMs = new Map<string, number | undefined>()

  constructor({ node, joinToken }: Identity) {
    const secret = randomUUID()
    this.hello = { kind: 'hello', version: CHANNEL_VERSION, node, secret, joinToken }
  }

  /** The allocation to start; undefined for one that is known or shall not run. */
  assigned(entry: unknown): string | undefined {
    const { allocation } = entry as Assigned
    if (this.#startedMs.has(allocation.ID) || allocation.DesiredStatus !== 'run') return undefined
    this.#startedMs.set(allocation.ID, undefined)
    return allocation.ID
  }

  started(id: string): AllocationUpdate {
    const nowMs = systemClock.nowMs()
    this.#startedMs.set(id, nowMs)
    return runningUpdate(id, nowMs)
  }

  forget(id: string): void {
    this.#startedMs.delete(id)
  }

  updates(): AllocationUpdate[] {
    return [...this.#startedMs].flatMap(([id, atMs]) =>
      atMs === undefined ? [] : [runningUpdate(id, atMs)],
    )
  }
}

/** The little that a simulated node reads of what it is assigned (contract: DesiredAllocation). */
interface Assigned {
  readonly allocation: { readonly ID: string; readonly DesiredStatus: string }
}

/** What a node reports of a task that has started: the same fields as a real one. */
function runningUpdate(id: string, nowMs: number): AllocationUpdate {
  const time = nsFromMs(nowMs)
  const events = [
    { Type: 'Received', Time: time, DisplayMessage: 'Task received by client' },
    { Type: 'Task Setup', Time: time, DisplayMessage: 'Building Task Directory' },
    { Type: 'Started', Time: time, DisplayMessage: 'Task started by client' },
  ]
  const main = { State: 'running', StartedAt: isoFromMs(nowMs), Events: events } as const
  return {
    ID: id,
    ClientStatus: 'running',
    ClientDescription: 'Tasks are running',
    TaskStates: taskStatesView({ main }),
  }
}

function nodeOf(at: number): NodeRegistration {
  const node = aNode()
  return {
    ID: randomUUID(),
    Name: `simulated-${at}`,
    Datacenter: 'dc1',
    NodePool: 'default',
    NodeClass: '',
    HTTPAddr: '127.0.0.1:4646',
    TLSEnabled: false,
    Attributes: { 'kernel.name': 'linux', 'driver.mock': '1' },
    Meta: null,
    Links: null,
    NodeResources: node.NodeResources,
    ReservedResources: node.ReservedResources,
    Drivers: { mock: MOCK },
    HostVolumes: null,
    HostNetworks: null,
    CgroupParent: '',
  }
}

const MOCK = {
  Attributes: null,
  Detected: true,
  Healthy: true,
  HealthDescription: '',
  UpdateTime: ZERO_TIME,
} as const
