/**
 * Thousands of nodes in one process, each with a WebSocket that speaks the protocol of real agents
 * (contract: channel.ts). Only tasks are simulated: an allocation runs shortly after its
 * assignment. Nodes decode no more of a message than needed, because they share the machine with
 * the measured server. Runs as a child process of cluster.bench.ts, controlled by messages.
 */
import { randomUUID } from 'node:crypto'
import {
  CHANNEL_VERSION,
  type HelloMessage,
  type NodeRegistration,
  type WelcomeMessage,
} from '@reeve/contract'
import { websocketDialer, type Channel } from '../src/agent/index.ts'
import { isoFromMs, nsFromMs } from '@reeve/kit/duration.ts'
import { compactTaskStates } from '../src/model/index.ts'
import { machineMs } from './measure.ts'
import { simulatedNode } from './simulated-node.ts'

export type AgentsCommand =
  | ConnectCommand
  /** Starts counting: `total` allocations will run. */
  | { readonly kind: 'expect'; readonly total: number }
  | { readonly kind: 'report' }

interface ConnectCommand {
  readonly kind: 'connect'
  readonly address: string
  readonly nodes: number
  readonly joinToken: string
  /** Delay between the assignment of an allocation and its running task. */
  readonly startDelayMs: number
}

export interface AgentsReport {
  /** Channels that ended unexpectedly. */
  readonly lost: readonly string[]
  /** Allocations confirmed as running by the server. */
  readonly running: number
  /** When each tenth of the expected allocations ran, by the machine's clock. */
  readonly tenthsMs: readonly number[]
  readonly cpuSeconds: number
  /** Characters received on all channels. */
  readonly receivedChars: number
  readonly receivedMessages: number
}

/** More would exceed the server's listen backlog. */
const DIALLED_AT_ONCE = 200
/** One timer serves all nodes: thousands of timers would dominate this process. */
const TICK_MS = 5
const TENTHS = 10
/** Allocations per status report of a real agent. */
const UPDATES_PER_REPORT = 256
const ASSIGNED = '{"allocation":{"ID":"'
const UUID_CHARS = 36

const agents: SimulatedAgent[] = []
const lost: string[] = []
const tenthsMs: number[] = []
let running = 0
let expected = 0
let receivedChars = 0
let receivedMessages = 0

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
  return { lost, running, tenthsMs, cpuSeconds, receivedChars, receivedMessages }
}

async function connectAll(command: ConnectCommand): Promise<void> {
  const dial = websocketDialer([command.address])
  const starting = new StartingAllocations(command.startDelayMs)
  const connect = async (at: number): Promise<WelcomeMessage> => {
    const agent = new SimulatedAgent(await dial(), starting)
    agents.push(agent)
    return await agent.greet({
      node: simulatedNode(`simulated-${at}`),
      joinToken: command.joinToken,
    })
  }
  let heartbeatMs = 0
  for (let at = 0; at < command.nodes; at += DIALLED_AT_ONCE) {
    const count = Math.min(DIALLED_AT_ONCE, command.nodes - at)
    const welcomes = Array.from({ length: count }, (_, i) => connect(at + i))
    for (const welcome of await Promise.all(welcomes)) heartbeatMs = welcome.heartbeatMs
  }
  beatForEver(heartbeatMs)
}

/** Sends one heartbeat per node and interval, a few at each tick. */
function beatForEver(heartbeatMs: number): void {
  const perTick = Math.ceil((agents.length * TICK_MS) / heartbeatMs)
  let next = 0
  setInterval(() => {
    for (let i = 0; i < perTick; i++) agents[next++ % agents.length]?.beat()
  }, TICK_MS)
}

interface Identity {
  readonly node: NodeRegistration
  readonly joinToken: string
}

/** The node's end of a channel. Like a real agent, it has at most one report in flight. */
class SimulatedAgent {
  readonly #channel: Channel
  readonly #starting: StartingAllocations
  readonly #welcome = Promise.withResolvers<WelcomeMessage>()
  readonly #known = new Set<string>()
  readonly #started: string[] = []
  #reported = 0
  #inFlight = 0
  #seq = 0

  constructor(channel: Channel, starting: StartingAllocations) {
    this.#channel = channel
    this.#starting = starting
    channel.onMessage((text) => this.#receive(text))
    channel.onClose((reason) => lost.push(reason))
  }

  greet({ node, joinToken }: Identity): Promise<WelcomeMessage> {
    const secret = randomUUID()
    const hello: HelloMessage = {
      kind: 'hello',
      version: CHANNEL_VERSION,
      node,
      secret,
      joinToken,
    }
    this.#channel.send(JSON.stringify(hello))
    return this.#welcome.promise
  }

  beat(): void {
    this.#channel.send('{"kind":"heartbeat"}')
  }

  /** The task of the allocation runs. */
  start(id: string): void {
    this.#started.push(id)
    // Allocations that start in one turn share a report.
    if (this.#started.length - this.#reported === 1) queueMicrotask(() => this.#flush())
  }

  #receive(text: string): void {
    receivedChars += text.length
    receivedMessages += 1
    if (text.startsWith('{"kind":"desired"')) this.#assign(text)
    else if (text.startsWith('{"kind":"ack"')) this.#confirm()
    else if (text.startsWith('{"kind":"welcome"')) this.#welcome.resolve(readWelcome(text))
    else if (!text.startsWith('{"kind":"heartbeat"')) this.#welcome.reject(new Error(text))
  }

  /** The message is not decoded: its jobs are long and unused here. */
  #assign(text: string): void {
    for (let at = text.indexOf(ASSIGNED); at >= 0; at = text.indexOf(ASSIGNED, at + 1)) {
      const begin = at + ASSIGNED.length
      // A copy, because a slice would retain the whole message.
      const id = Buffer.from(text.slice(begin, begin + UUID_CHARS)).toString('latin1')
      if (this.#known.has(id)) continue
      this.#known.add(id)
      this.#starting.add(this, id)
    }
  }

  #confirm(): void {
    running += this.#inFlight
    this.#inFlight = 0
    const reached = expected === 0 ? 0 : Math.floor((running * TENTHS) / expected)
    while (tenthsMs.length < Math.min(TENTHS, reached)) tenthsMs.push(machineMs())
    this.#flush()
  }

  #flush(): void {
    const ids = this.#started.slice(this.#reported, this.#reported + UPDATES_PER_REPORT)
    if (this.#inFlight > 0 || ids.length === 0) return
    this.#reported += ids.length
    this.#inFlight = ids.length
    this.#seq += 1
    const updates = ids.map(runningUpdate).join(',')
    this.#channel.send(`{"kind":"status","seq":${this.#seq},"updates":[${updates}]}`)
  }
}

function readWelcome(text: string): WelcomeMessage {
  // Proof: its kind was checked, and the server is our own.
  return JSON.parse(text) as WelcomeMessage
}

/** Assigned allocations that do not run yet, oldest first. */
class StartingAllocations {
  readonly #delayMs: number
  #waiting: { readonly dueMs: number; readonly agent: SimulatedAgent; readonly id: string }[] = []

  constructor(delayMs: number) {
    this.#delayMs = delayMs
    setInterval(() => this.#tick(), TICK_MS)
  }

  add(agent: SimulatedAgent, id: string): void {
    this.#waiting.push({ dueMs: performance.now() + this.#delayMs, agent, id })
  }

  #tick(): void {
    const nowMs = performance.now()
    const later = this.#waiting.findIndex(({ dueMs }) => dueMs > nowMs)
    const due = this.#waiting.splice(0, later < 0 ? this.#waiting.length : later)
    for (const { agent, id } of due) agent.start(id)
  }
}

/** The update for a started task (contract: AllocationUpdate). */
function runningUpdate(id: string): string {
  const head = `{"ID":"${id}","ClientStatus":"running","ClientDescription":"Tasks are running"`
  return `${head},"TaskStates":${taskStates(Date.now())}}`
}

let stated = { atMs: 0, text: '' }

/** Cached for all tasks that start in the same millisecond. */
function taskStates(nowMs: number): string {
  if (stated.atMs === nowMs) return stated.text
  const time = nsFromMs(nowMs)
  const events = [
    { Type: 'Received', Time: time, DisplayMessage: 'Task received by client' },
    { Type: 'Task Setup', Time: time, DisplayMessage: 'Building Task Directory' },
    { Type: 'Started', Time: time, DisplayMessage: 'Task started by client' },
  ]
  const main = { State: 'running', StartedAt: isoFromMs(nowMs), Events: events } as const
  stated = { atMs: nowMs, text: JSON.stringify(compactTaskStates({ main })) }
  return stated.text
}
