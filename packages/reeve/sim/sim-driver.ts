import type {
  Recovery,
  RunningTask,
  TaskDriver,
  TaskExit,
  TaskHandle,
  TaskLaunch,
} from '../src/agent/index.ts'
import { MockDriver } from '../src/drivers/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Violation } from './trace.ts'
import type { ProcessClock } from './virtual-clock.ts'

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

export interface SimDriverOptions {
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
export class SimDriver {
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
