import { NodeAgent, type Fingerprint, type NodeSettings } from '../src/agent/index.ts'
import type { Assignment } from '../src/agent/assignment.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { AgentDisk } from './agent-disk.ts'
import { SequentialIds, type RandomStream } from './draws.ts'
import { JOIN_TOKEN } from './leader.ts'
import type { Network } from './network.ts'
import { SimDriver, type TaskPlan } from './sim-driver.ts'
import { Violation } from './trace.ts'
import { ProcessClock, type VirtualClock } from './virtual-clock.ts'

/** Configuration and fingerprint of a node. */
export interface Machine {
  readonly settings: NodeSettings
  readonly fingerprint: Fingerprint
}

export interface SimNodeOptions {
  readonly id: string
  readonly secret: string
  readonly machine: Machine
  readonly virtualClock: VirtualClock
  readonly network: Network
  readonly random: RandomStream
  /** How far its clock is ahead. */
  readonly skewMs: number
  readonly planOf: (assignment: Assignment | undefined) => TaskPlan
  readonly reportViolation: (violation: Violation) => void
  readonly trace: (text: string) => void
}

/**
 * A machine with the product's agent (`src/agent`) and the mock driver. The agent uses the
 * machine's clock, disk and network; tasks outlive their agent, and the disk outlives both.
 */
export class SimNode {
  readonly #options: SimNodeOptions
  readonly #disk: AgentDisk
  readonly #driver: SimDriver
  #settings: NodeSettings
  #clock: ProcessClock
  #agentClock: ProcessClock | undefined
  #boots = 0
  /** How far the machine's clock is ahead; negative if behind. */
  readonly #skew: { ms: number }
  #isOn = false
  #isDriverHealthy = true

  constructor(options: SimNodeOptions) {
    this.#options = options
    this.#skew = { ms: options.skewMs }
    const { id, secret, random, planOf, reportViolation } = options
    this.#settings = options.machine.settings
    this.#clock = this.#newClock()
    this.#disk = new AgentDisk({ nodeId: id, secret, random })
    // Timers of tasks belong to the boot in which they run.
    const clock: Clock = {
      nowMs: () => this.#clock.nowMs(),
      monotonicMs: () => this.#clock.monotonicMs(),
      after: (delayMs, wake) => this.#clock.after(delayMs, wake),
    }
    this.#driver = new SimDriver({
      clock,
      planOf: ({ handle }) => planOf(this.#disk.findAssignment(handle.allocationId)),
      stopNode: () => this.powerOff(),
      reportViolation,
    })
  }

  get id(): string {
    return this.#options.id
  }

  get isOn(): boolean {
    return this.#isOn
  }

  get driver(): Pick<SimDriver, 'running' | 'exitOf'> {
    return this.#driver
  }

  /** Powers on the machine and starts its agent. Tasks must be started again. */
  powerOn(): void {
    if (this.#isOn) return
    this.#isOn = true
    this.#boots += 1
    this.#clock = this.#newClock()
    this.startAgent()
  }

  powerOff(): void {
    this.#isOn = false
    this.#driver.powerOff()
    this.#clock.kill()
    this.killAgent()
  }

  startAgent(): void {
    if (!this.#isOn || this.#agentClock !== undefined) return
    const { network, random, machine, trace } = this.#options
    const clock = this.#newClock()
    this.#agentClock = clock
    const isAlive = (): boolean => this.#agentClock === clock
    const agent = new NodeAgent({
      settings: this.#settings,
      storage: this.#disk.storageFor(clock, `boot ${this.#boots}`),
      drivers: [this.#driver.forAgent(clock)],
      clock,
      random: random,
      // An agent creates ids only on its first start, and this disk already has an identity.
      ids: new SequentialIds('9'),
      log: this.#log(isAlive),
      dial: () => network.dial(this.id, isAlive),
      probe: () => Promise.resolve(machine.fingerprint),
      joinToken: JOIN_TOKEN,
    })
    agent.start().catch((thrown: unknown) => trace(`agent not started: ${errorMessage(thrown)}`))
  }

  /** Kills the agent; its tasks continue. */
  killAgent(): void {
    this.#agentClock?.kill()
    this.#agentClock = undefined
    this.#options.network.dropConnections(this.id)
  }

  /** Changes the rack in the agent's configuration and restarts the agent. */
  setRack(rack: string): void {
    this.#settings = { ...this.#settings, Meta: { rack } }
    if (this.#agentClock === undefined) return
    this.killAgent()
    this.startAgent()
  }

  /** Changes the health of the driver; the agent notices at its next fingerprint. */
  setDriverHealthy(isHealthy = !this.#isDriverHealthy): void {
    this.#isDriverHealthy = isHealthy
    this.#driver.setHealthy(isHealthy)
  }

  /** Sets the clock of the machine to be ahead of its initial setting. */
  setClock(aheadMs: number): void {
    this.#skew.ms = this.#options.skewMs + aheadMs
  }

  #newClock(): ProcessClock {
    return new ProcessClock(this.#options.virtualClock, this.#skew)
  }

  #log(isAlive: () => boolean) {
    const { trace, reportViolation, id } = this.#options
    const silent = (): void => undefined
    return {
      debug: silent,
      info: silent,
      warn: silent,
      error: (fields: object, message: string) => {
        const text = `${id} ${message} ${JSON.stringify(fields)}`
        // A leader may reject a node because its storage fails.
        if (message === REJECTED_MESSAGE || !isAlive()) trace(text)
        else reportViolation(new Violation('agents make no mistakes', text))
      },
    }
  }
}

const REJECTED_MESSAGE = 'the server refused this node'
