import {
  NodeAgent,
  type Fingerprint,
  type NodeSettings,
  type AgentStorage,
  type Recovery,
  type RunningTask,
  type TaskDriver,
  type TaskExit,
  type TaskHandle,
  type TaskLaunch,
} from '../src/agent/index.ts'
import type { Assignment } from '../src/agent/assignment.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { MemoryStore } from '../src/agent/store/agent-store.ts'
import { NoopWorkspace } from '../src/agent/store/workspace.ts'
import { MockDriver } from '../src/drivers/index.ts'
import { SequentialIds, type RandomStream } from './random-stream.ts'
import { JOIN_TOKEN } from './sim-leader.ts'
import type { Network } from './network.ts'
import { Violation } from './trace.ts'
import { ProcessClock, type VirtualClock } from './virtual-clock.ts'

/** Configuration and fingerprint of a node. */
export interface Machine {
  readonly settings: NodeSettings
  readonly fingerprint: Fingerprint
}

interface SimNodeOptions {
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
        else reportViolation(new Violation('agents have no bugs', text))
      },
    }
  }
}

const REJECTED_MESSAGE = 'the server refused this node'

/** Most writes are fast; some take long enough for the agent to die before they are durable. */
const SLOW_WRITE_CHANCE = 0.2
const MAX_SLOW_WRITE_MS = 5

interface AgentDiskOptions {
  readonly nodeId: string
  readonly secret: string
  readonly random: RandomStream
}

/**
 * The disk of a machine with the persistent state of its agents. It survives agents and reboots.
 */
class AgentDisk {
  readonly #options: AgentDiskOptions
  readonly #store = new MemoryStore()
  readonly #assignments = new Map<string, Assignment>()
  #secret: string
  #region: string | undefined

  constructor(options: AgentDiskOptions) {
    this.#options = options
    this.#secret = options.secret
  }

  /** The allocation as last saved by the agent. */
  findAssignment(allocationId: string): Assignment | undefined {
    return this.#assignments.get(allocationId)
  }

  /** The storage of one agent process. Writes of a dead agent never happen. */
  storageFor(clock: ProcessClock, bootId: string): AgentStorage {
    const { nodeId } = this.#options
    const write = async (change: () => void | Promise<void>): Promise<void> => {
      await this.#delayWrite(clock)
      await change()
    }
    return {
      store: {
        load: () => this.#store.load(),
        saveAssignment: (assignment) =>
          write(() => {
            this.#assignments.set(assignment.allocation.ID, assignment)
            return this.#store.saveAssignment(assignment)
          }),
        saveTasks: (id, tasks) => write(() => this.#store.saveTasks(id, tasks)),
        remove: (id) =>
          write(() => {
            this.#assignments.delete(id)
            return this.#store.remove(id)
          }),
      },
      workspace: new NoopWorkspace(),
      recordsDir: '/nowhere/tasks',
      open: () =>
        Promise.resolve({
          nodeId,
          secret: this.#secret,
          bootId,
          ...(this.#region === undefined ? {} : { region: this.#region }),
        }),
      saveRegion: (region) => write(() => void (this.#region = region)),
      saveMeta: () => Promise.resolve(),
      saveVolumes: () => Promise.resolve(),
      saveSecret: (secret) => write(() => void (this.#secret = secret)),
      removeStaleRecords: () => Promise.resolve(),
      close: () => Promise.resolve(),
    }
  }

  async #delayWrite(clock: ProcessClock): Promise<void> {
    const { random } = this.#options
    if (random.chance(SLOW_WRITE_CHANCE)) await clock.sleep(random.between(0, MAX_SLOW_WRITE_MS))
    else if (clock.isDead) await new Promise(() => undefined)
  }
}

/** The course of one start of a task. */
export interface TaskPlan {
  readonly startMs: number
  /** Run time; undefined means until stopped. */
  readonly runMs: number | undefined
  readonly fails: boolean
  readonly killMs: number
  /** Starting the task stops the machine. */
  readonly stopsNode?: boolean
}

interface SimDriverOptions {
  /** The clock of the machine: tasks continue without their agent. */
  readonly clock: Clock
  readonly planOf: (launch: TaskLaunch) => TaskPlan
  /** Stops the machine with everything on it. */
  readonly stopNode: () => void
  readonly reportViolation: (violation: Violation) => void
}

/**
 * The mock driver of one machine with randomly planned tasks. Its tasks end with the machine; their
 * recorded exits persist.
 */
class SimDriver {
  readonly #options: SimDriverOptions
  readonly #mock: MockDriver
  /** Successful starts: a second start is rejected with that reason, on any boot. */
  readonly #startedHandles = new Set<string>()
  readonly #exitByAllocation = new Map<string, TaskExit>()

  constructor(options: SimDriverOptions) {
    this.#options = options
    this.#mock = new MockDriver({ clock: options.clock })
  }

  /** Allocations with a running task. */
  get running(): ReadonlySet<string> {
    return new Set(this.#mock.running.map(({ launch }) => launch.handle.allocationId))
  }

  /** How the last task of an allocation ended on this machine. */
  exitOf(allocationId: string): TaskExit | undefined {
    return this.#exitByAllocation.get(allocationId)
  }

  setHealthy(healthy: boolean): void {
    const description = healthy ? 'Healthy' : 'not working'
    const attributes = { 'driver.mock': '1' }
    this.#mock.setHealth({ detected: true, healthy, description, attributes })
  }

  /** Powers off the machine: running tasks are gone without an exit result. */
  powerOff(): void {
    for (const { launch } of this.#mock.running) this.#mock.markLost(launch.handle.id)
  }

  /** The driver as seen by one agent. Starts of a dead agent never happen. */
  forAgent(clock: ProcessClock): TaskDriver {
    return {
      name: this.#mock.name,
      isolation: this.#mock.isolation,
      fingerprint: () => this.#mock.fingerprint(),
      start: (launch) => this.#start(launch, clock),
      recover: (handle) => this.#recover(handle),
    }
  }

  async #start(launch: TaskLaunch, clock: ProcessClock): Promise<RunningTask> {
    const plan = this.#options.planOf(launch)
    await clock.sleep(plan.startMs)
    if (plan.stopsNode === true) {
      this.#options.stopNode()
      return await new Promise<never>(() => undefined)
    }
    const { id, allocationId, task } = launch.handle
    this.#checkNotRunning(launch.handle)
    this.#startedHandles.add(id)
    this.#exitByAllocation.delete(allocationId)
    const running = await this.#mock.start({ ...launch, config: configOf(plan) })
    const started = this.#mock.running.find((one) => one.launch.handle.id === id)
    void started?.exited.then((exit) =>
      this.#exitByAllocation.set(allocationId, { ...exit, message: task }),
    )
    return running
  }

  /**
   * Invariant: no task of an allocation runs twice at once, regardless of agent and machine
   * restarts.
   */
  #checkNotRunning({ id, allocationId, task }: TaskHandle): void {
    const duplicate = this.#mock.running.find(({ launch: { handle } }) => {
      return handle.allocationId === allocationId && handle.task === task
    })
    if (duplicate === undefined && !this.#startedHandles.has(id)) return
    const before = duplicate?.launch.handle.id ?? id
    this.#options.reportViolation(new Violation('a task is started once', `${id} beside ${before}`))
  }

  async #recover(handle: TaskHandle): Promise<Recovery> {
    const recovery = await this.#mock.recover(handle)
    if (recovery.kind === 'never-started' && this.#startedHandles.has(handle.id))
      return { kind: 'lost', reason: 'the task was lost' }
    return recovery
  }
}

function configOf({ runMs, fails, killMs }: TaskPlan): Readonly<Record<string, unknown>> {
  return {
    ...(runMs === undefined ? {} : { run_for: `${runMs}ms` }),
    exit_code: fails ? 1 : 0,
    kill_after: `${killMs}ms`,
  }
}
