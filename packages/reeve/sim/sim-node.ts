import { CHANNEL_VERSION, type AllocationUpdate, type DesiredAllocation } from '@reeve/contract'
import type { NodeRegistration } from '@reeve/contract'
import { ServerLink } from '../src/agent/link/server-link.ts'
import type { DesiredEnvelope } from '../src/agent/link/server-message.ts'
import { isClientTerminal, isServerTerminal } from '../src/model/index.ts'
import type { Draws } from './draws.ts'
import { JOIN_TOKEN } from './leader.ts'
import type { Network } from './network.ts'
import { TaskRun, type Fate } from './task-run.ts'
import { ProcessClock, type VirtualClock } from './virtual-clock.ts'

const silent = (): void => undefined

export interface SimNodeOptions {
  readonly registration: NodeRegistration
  readonly secret: string
  readonly world: VirtualClock
  readonly network: Network
  readonly draws: Draws
  /** How far its clock is ahead. */
  readonly skewMs: number
  readonly fateOf: (desired: DesiredAllocation) => Fate
}

/**
 * A machine with an agent. The agent speaks to the leader through the agent's own link
 * (`agent/link`); what it runs is a plan. Tasks outlive their agent, the disk outlives both.
 */
export class SimNode {
  readonly #options: SimNodeOptions
  #registration: NodeRegistration
  /** On the disk: what runs here and how it ended. */
  #runs = new Map<string, TaskRun>()
  /** What is said of allocations that never ran here. */
  readonly #answers = new Map<string, AllocationUpdate>()
  #listed = new Set<string>()
  #machine: ProcessClock
  #agent: ProcessClock | undefined
  #link: ServerLink | undefined
  #isOn = false

  constructor(options: SimNodeOptions) {
    this.#options = options
    this.#registration = options.registration
    this.#machine = this.#newClock()
  }

  get id(): string {
    return this.#registration.ID
  }

  get isOn(): boolean {
    return this.#isOn
  }

  get runs(): readonly TaskRun[] {
    return [...this.#runs.values()]
  }

  /** The machine starts, its agent with it. Tasks that ran have to start again. */
  powerOn(): void {
    if (this.#isOn) return
    this.#isOn = true
    this.#machine = this.#newClock()
    const before = [...this.#runs.values()].map((run) => run.afterReboot)
    this.#runs = new Map()
    for (const { desired, ended } of before) {
      const run = this.#newRun(desired)
      if (ended !== undefined) run.remember(ended)
      else if (isServerTerminal(desired.allocation)) run.stop()
    }
    this.#beginReady()
    this.startAgent()
  }

  powerOff(): void {
    this.#isOn = false
    this.#machine.die()
    this.killAgent()
  }

  startAgent(): void {
    if (!this.#isOn || this.#agent !== undefined) return
    const { network, draws } = this.#options
    const clock = this.#newClock()
    const isAlive = (): boolean => this.#agent === clock
    this.#agent = clock
    this.#link = new ServerLink({
      clock,
      random: draws,
      log: { debug: silent, info: silent, warn: silent, error: silent },
      dial: () => network.dial(this.id, isAlive),
      hello: () => ({
        kind: 'hello',
        version: CHANNEL_VERSION,
        node: this.#registration,
        secret: this.#options.secret,
        joinToken: JOIN_TOKEN,
      }),
      updates: () => [
        ...[...this.#runs.values()].map((run) => run.report()),
        ...this.#answers.values(),
      ],
      welcomed: () => {
        this.#listed = new Set()
      },
      desired: (message) => {
        if (isAlive()) this.#applyDesired(message)
      },
    })
    this.#link.start()
  }

  /** The agent is gone; what it ran goes on. */
  killAgent(): void {
    this.#agent?.die()
    this.#agent = undefined
    this.#link = undefined
    this.#answers.clear()
    this.#options.network.cut(this.id)
  }

  /** Other facts about the machine. */
  describe(change: (node: NodeRegistration) => NodeRegistration): void {
    this.#registration = change(this.#registration)
    this.#link?.sendNode(this.#registration)
  }

  #newClock(): ProcessClock {
    return new ProcessClock(this.#options.world, { ms: this.#options.skewMs })
  }

  /** As `NodeAgent` reads a `desired` message. */
  #applyDesired(message: DesiredEnvelope): void {
    // The leader of this world sends nothing else.
    for (const desired of message.allocations as readonly DesiredAllocation[]) {
      this.#assign(desired)
      this.#listed.add(desired.allocation.ID)
    }
    for (const id of message.removed) this.#remove(id)
    if (message.full && message.more !== true)
      for (const id of [...this.#runs.keys(), ...this.#answers.keys()])
        if (!this.#listed.has(id)) this.#remove(id)
    this.#beginReady()
  }

  #assign(desired: DesiredAllocation): void {
    const { allocation } = desired
    const known = this.#runs.get(allocation.ID)
    if (known !== undefined) known.update(desired)
    else if (isClientTerminal(allocation)) return
    else if (isServerTerminal(allocation)) this.#answer(allocation.ID)
    else this.#newRun(desired)
  }

  #newRun(desired: DesiredAllocation): TaskRun {
    const run = new TaskRun({
      desired,
      fate: this.#options.fateOf(desired),
      clock: this.#machine,
      changed: (one) => this.#changed(one),
      takeNodeDown: () => this.powerOff(),
    })
    this.#runs.set(run.id, run)
    this.#answers.delete(run.id)
    return run
  }

  #answer(id: string): void {
    const update: AllocationUpdate = {
      ID: id,
      ClientStatus: 'complete',
      ClientDescription: 'Ended before it began',
      TaskStates: null,
    }
    this.#answers.set(id, update)
    this.#link?.report(update)
  }

  #remove(id: string): void {
    this.#answers.delete(id)
    this.#runs.get(id)?.stop()
    this.#runs.delete(id)
  }

  #changed(run: TaskRun): void {
    if (this.#runs.get(run.id) === run) this.#link?.report(run.report())
    if (run.hasEnded) this.#beginReady()
  }

  /** Begins what waits for nobody any more. */
  #beginReady(): void {
    for (const run of this.#runs.values()) {
      if (!run.isWaiting) continue
      const waits = run.predecessors.some((id) => this.#runs.get(id)?.hasEnded === false)
      if (!waits) run.begin()
    }
  }
}
