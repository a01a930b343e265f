import {
  sleep,
  type DriverHealth,
  type Recovery,
  type RunningTask,
  type TaskDriver,
  type TaskHandle,
  type TaskLaunch,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { readMockConfig } from './mock-config.ts'
import { MockTask } from './mock-task.ts'

/**
 * Pretends to run tasks, on the clock it is given: for tests and simulated nodes. Its tasks belong
 * to the driver object, so an agent that is thrown away and made anew with the same driver finds
 * them again.
 */
export class MockDriver implements TaskDriver {
  readonly name: string = 'mock'
  readonly isolation = 'none'
  readonly #clock: Clock
  readonly #tasks = new Map<string, MockTask>()
  readonly #lostHandleIds = new Set<string>()
  #health: DriverHealth = {
    detected: true,
    healthy: true,
    description: 'Healthy',
    attributes: { 'driver.mock': '1' },
  }

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock
  }

  /** The tasks that run now, in the order of their starts. */
  get running(): readonly MockTask[] {
    return [...this.#tasks.values()].filter((task) => !task.hasExited)
  }

  /** What the next fingerprint will say. */
  setHealth(health: DriverHealth): void {
    this.#health = health
  }

  /** As if the machine had forgotten the task: it is gone and nobody knows how. */
  markLost(handleId: string): void {
    this.#tasks.delete(handleId)
    this.#lostHandleIds.add(handleId)
  }

  fingerprint(): Promise<DriverHealth> {
    return Promise.resolve(this.#health)
  }

  async start(launch: TaskLaunch): Promise<RunningTask> {
    const config = readMockConfig(launch.config)
    if (config.startBlockMs > 0) await sleep(this.#clock, config.startBlockMs)
    if (config.startError !== '') {
      const kind = config.isStartErrorRecoverable ? 'task-start' : 'task-unstartable'
      throw new Fault(kind, config.startError)
    }
    const { id } = launch.handle
    const onLost = (): void => this.markLost(id)
    const task = new MockTask({ launch, config, clock: this.#clock, onLost })
    this.#tasks.set(id, task)
    return task.attach(() => this.#tasks.delete(id))
  }

  recover(handle: TaskHandle): Promise<Recovery> {
    const { id } = handle
    const task = this.#tasks.get(id)
    if (task !== undefined) {
      return Promise.resolve({ kind: 'attached', task: task.attach(() => this.#tasks.delete(id)) })
    }
    if (this.#lostHandleIds.has(id))
      return Promise.resolve({ kind: 'lost', reason: 'the task was lost' })
    return Promise.resolve({ kind: 'never-started' })
  }
}
