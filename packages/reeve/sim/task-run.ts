import type {
  AllocationUpdate,
  DesiredAllocation,
  ReportedTaskState,
  TaskGroup,
} from '@reeve/contract'
import { isoFromMs, msFromNs, ZERO_TIME } from '../src/kit/duration.ts'
import type { ProcessClock } from './virtual-clock.ts'

/** What is to become of the tasks of one allocation. */
export interface Fate {
  readonly startMs: number
  /** How long they run; undefined: until they are stopped. */
  readonly runMs: number | undefined
  readonly fails: boolean
  /** Whether they are ever found well. */
  readonly becomesHealthy: boolean
  readonly killMs: number
  /** The machine stops when they start. */
  readonly takesNodeDown?: boolean
}

export interface TaskRunOptions {
  readonly desired: DesiredAllocation
  readonly fate: Fate
  /** Of the machine: tasks go on without their agent. */
  readonly clock: ProcessClock
  /** Something changed that the servers should know. */
  readonly changed: (run: TaskRun) => void
  /** The machine stops, with everything on it. */
  readonly takeNodeDown: () => void
}

type Status = 'pending' | 'running' | 'complete' | 'failed'

/** The tasks of one allocation on a node: they start, run, get well or not, and end. */
export class TaskRun {
  readonly #options: TaskRunOptions
  #desired: DesiredAllocation
  #status: Status = 'pending'
  #healthy: boolean | null = null
  #judgedFor = ''
  #judgedMs = 0
  #startedMs = 0
  #finishedMs = 0
  #isBegun = false
  #isStopping = false
  #cancelHealth: () => void = () => undefined

  constructor(options: TaskRunOptions) {
    this.#options = options
    this.#desired = options.desired
    this.#watchHealth()
  }

  get id(): string {
    return this.#desired.allocation.ID
  }

  get status(): Status {
    return this.#status
  }

  get hasEnded(): boolean {
    return this.#status === 'complete' || this.#status === 'failed'
  }

  /** Waits for those whose place it takes. */
  get isWaiting(): boolean {
    return !this.#isBegun && !this.hasEnded
  }

  /** Those that must have ended here before it begins. */
  get predecessors(): readonly string[] {
    const { PreviousAllocation, PreemptedAllocations } = this.#desired.allocation
    return [PreviousAllocation, ...(PreemptedAllocations ?? [])].filter((id) => id !== '')
  }

  begin(): void {
    if (this.#isBegun || this.hasEnded) return
    this.#isBegun = true
    const { clock, fate } = this.#options
    clock.after(fate.startMs, () => {
      if (this.hasEnded || this.#isStopping) return
      if (fate.takesNodeDown === true) return this.#options.takeNodeDown()
      this.#status = 'running'
      this.#startedMs = clock.nowMs()
      this.#options.changed(this)
      this.#judgeSoon()
      if (fate.runMs !== undefined)
        clock.after(fate.runMs, () => this.#end(fate.fails ? 'failed' : 'complete'))
    })
  }

  /** The servers say something else of it than before. */
  update(desired: DesiredAllocation): void {
    const before = this.#desired.allocation.DeploymentID
    this.#desired = desired
    if (desired.allocation.DesiredStatus !== 'run') this.stop()
    else if (desired.allocation.DeploymentID !== before) this.#watchHealth()
  }

  stop(): void {
    if (this.#isStopping || this.hasEnded) return
    this.#isStopping = true
    this.#cancelHealth()
    const { clock, fate } = this.#options
    if (this.#status === 'pending') this.#end('complete')
    else clock.after(fate.killMs, () => this.#end('complete'))
  }

  /** The allocation as the disk of its machine remembers it: the tasks are gone. */
  get afterReboot(): { readonly desired: DesiredAllocation; readonly ended: Status | undefined } {
    return { desired: this.#desired, ended: this.hasEnded ? this.#status : undefined }
  }

  /** Takes over how it had ended. */
  remember(ended: Status): void {
    this.#status = ended
    this.#cancelHealth()
  }

  report(): AllocationUpdate {
    const { ID } = this.#desired.allocation
    return {
      ID,
      ClientStatus: this.#status,
      ClientDescription: '',
      TaskStates: Object.fromEntries(
        (this.#group?.Tasks ?? []).map((task) => [task.Name, this.#taskState()]),
      ),
      ...(this.#healthy === null
        ? {}
        : {
            DeploymentID: this.#judgedFor,
            DeploymentStatus: {
              Healthy: this.#healthy,
              Timestamp: isoFromMs(this.#judgedMs),
              Canary: false,
              ModifyIndex: 0,
            },
          }),
    }
  }

  get #group(): TaskGroup | undefined {
    const { job, allocation } = this.#desired
    return job.TaskGroups.find(({ Name }) => Name === allocation.TaskGroup)
  }

  #taskState(): ReportedTaskState {
    const State = this.hasEnded ? 'dead' : this.#status === 'running' ? 'running' : 'pending'
    return {
      State,
      Failed: this.#status === 'failed',
      Restarts: 0,
      LastRestart: ZERO_TIME,
      StartedAt: this.#startedMs === 0 ? ZERO_TIME : isoFromMs(this.#startedMs),
      FinishedAt: this.#finishedMs === 0 ? ZERO_TIME : isoFromMs(this.#finishedMs),
      // Work that was stopped has not been done.
      Events: this.#isStopping ? [{ Type: 'Killing' }] : [],
      TaskHandle: null,
      Paused: '',
    }
  }

  /** Scheduling reference §29: well for a while, or not well in time. */
  #watchHealth(): void {
    this.#cancelHealth()
    const { DeploymentID } = this.#desired.allocation
    this.#healthy = null
    this.#judgedFor = DeploymentID
    if (DeploymentID === '' || this.hasEnded) return
    const deadlineMs = msFromNs(this.#group?.Update?.HealthyDeadline ?? 0)
    this.#cancelHealth = this.#options.clock.after(deadlineMs, () => this.#judge(false))
    if (this.#status === 'running') this.#judgeSoon()
  }

  #judgeSoon(): void {
    const { fate, clock } = this.#options
    const wanted = this.#judgedFor
    if (wanted === '' || !fate.becomesHealthy) return
    const minimumMs = msFromNs(this.#group?.Update?.MinHealthyTime ?? 0)
    clock.after(minimumMs, () => {
      if (this.#judgedFor === wanted && this.#status === 'running') this.#judge(true)
    })
  }

  #judge(healthy: boolean): void {
    if (this.#healthy !== null || this.#isStopping || this.#judgedFor === '') return
    this.#cancelHealth()
    this.#healthy = healthy
    this.#judgedMs = this.#options.clock.nowMs()
    this.#options.changed(this)
  }

  #end(status: 'complete' | 'failed'): void {
    if (this.hasEnded) return
    this.#status = status
    this.#finishedMs = this.#options.clock.nowMs()
    this.#cancelHealth()
    if (status === 'failed' && this.#judgedFor !== '' && this.#healthy !== false) {
      this.#healthy = false
      this.#judgedMs = this.#finishedMs
    }
    this.#options.changed(this)
  }
}
