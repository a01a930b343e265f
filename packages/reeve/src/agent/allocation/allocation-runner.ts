import type { AllocationNetworkStatus, TaskState } from '@reeve/contract'
import { formatDurationNs, msFromNs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage, redactPaths } from '@reeve/kit/fault.ts'
import { isBatchType, isEqual, isServerTerminal } from '../../model/index.ts'
import type { AgentTask, AgentTaskGroup, Assignment } from '../assignment.ts'
import type { AgentHost } from '../host.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { networkStatus } from '../network/allocation-network.ts'
import { ownValue } from '../own-value.ts'
import { Latest } from '../store/latest.ts'
import type { TaskRecord, TaskRecords } from '../store/store.ts'
import { skipsDelays } from '../task/shutdown-delay.ts'
import type { KillRequest, TaskControl } from '../task/task-control.ts'
import { TaskRunner } from '../task/task-runner.ts'
import { pause } from '../wait.ts'
import { ALLOCATION_HOOKS, tearDownNetwork } from './allocation-hooks.ts'
import { summarize, type StatusSummary } from './client-status.ts'
import { watchDisk } from './disk-watch.ts'
import { HealthWatch, type HealthWord } from './health-watch.ts'
import { decideGroup, isSidecar, stageOf, type EndReason, type Stage } from './lifecycle.ts'
import { getTask, restartTasks, signalTasks, type AllocationRestart } from './task-actions.ts'

/** What the servers are told about one allocation. */
interface AllocationReport extends StatusSummary, HealthWord {
  readonly ID: string
  readonly TaskStates: Readonly<Record<string, TaskState>>
  readonly NetworkStatus?: AllocationNetworkStatus
}

interface AllocationRunnerOptions {
  readonly host: AgentHost
  readonly assignment: Assignment
  /** What was saved by an agent before this one; empty for an allocation never seen here. */
  readonly records: TaskRecords
  /**
   * Called with every change that the servers should know, and not again with the same: on a new
   * channel `currentReport` is told whatever was said before.
   */
  report(report: AllocationReport): void
  /** Settles when the other allocation has ended on this node, at once when it never was here. */
  endOf(allocationId: string): Promise<void>
}

interface Member {
  readonly runner: TaskRunner
  readonly stage: Stage
  readonly leader: boolean
}

/**
 * Runs the tasks of one allocation: starts each in its stage, stops all when the group ends, and
 * reports the status. `decideGroup` decides; this class carries the decisions out.
 */
export class AllocationRunner {
  readonly id: string
  readonly name: string
  readonly #options: AllocationRunnerOptions
  readonly #members: readonly Member[]
  readonly #saveTasks: Latest
  readonly #saveAssignment: Latest
  readonly #health: HealthWatch
  #assignment: Assignment
  /** What the store has of the tasks. */
  #written: TaskRecords = {}
  #reported: AllocationReport | undefined
  #cancelSave: (() => void) | undefined
  #ending: Promise<void> | undefined
  #isHalted = false
  #isExpired = false
  /** False until the allocation itself is saved: nothing may be told or follow before. */
  #isOpen = false
  #areTasksStarted = false
  #isReviewDue = false
  /** Calls to start everything over whose old processes still end: meanwhile gates stay shut. */
  #startOvers = 0
  /** Fires when the allocation need not be set up any more: it is to end, or the agent is. */
  readonly #setUpOver = new AbortController()
  /** Fires when the servers want no delay before the end. */
  readonly #delaySkipped = new AbortController()
  /** Fires when no timer of the allocation matters any more. */
  readonly #stopped = new AbortController()
  readonly #ended = Promise.withResolvers<void>()

  constructor(options: AllocationRunnerOptions) {
    const { assignment, host, records } = options
    this.#options = options
    this.#assignment = assignment
    this.id = assignment.allocation.ID
    this.name = assignment.allocation.Name
    this.#saveTasks = new Latest(() => this.#writeTasks())
    this.#saveAssignment = new Latest(() => host.store.saveAssignment(this.#assignment))
    this.#health = new HealthWatch({ clock: host.clock, wake: () => this.#changed() })
    this.#members = assignment.group.Tasks.map((task) =>
      this.#member(task, ownValue(records, task.Name)),
    )
  }

  /**
   * Settles when nothing of the allocation will run again here, or when the runner was halted.
   * Never rejects.
   */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  start(): void {
    this.#health.follow(this.#assignment)
    void this.#run()
  }

  /** The servers changed their mind about this allocation. */
  async update(assignment: Assignment): Promise<void> {
    this.#assignment = assignment
    for (const { runner } of this.#members) {
      const task = assignment.group.Tasks.find((candidate) => candidate.Name === runner.name)
      if (task !== undefined) runner.update(assignment, task)
    }
    this.#options.host.services?.update(assignment)
    this.#health.follow(assignment)
    if (skipsDelays(assignment)) this.#delaySkipped.abort()
    if (isServerTerminal(assignment.allocation)) void this.stop()
    else if (this.#health.isOpen) this.#changed()
    await this.#saveAssignment.run()
  }

  /** The group as the servers last said it should be. */
  get group(): AgentTaskGroup {
    return this.#assignment.group
  }

  /**
   * Ends the tasks in their order, then runs the poststop ones. A second call changes nothing. The
   * reason is that of the servers unless given.
   */
  stop(reason?: string): Promise<void> {
    return this.#end(undefined, reason)
  }

  /**
   * Ends everything at once, poststop tasks included, for an allocation that the servers have
   * forgotten.
   */
  async destroy(): Promise<void> {
    await this.stop()
    await Promise.all(this.#members.map(({ runner }) => runner.kill(AT_ONCE)))
  }

  /** The agent goes, the tasks stay. Resolves when what happened so far is saved. */
  async halt(): Promise<void> {
    this.#isHalted = true
    this.#options.host.services?.halt(this.id)
    this.#health.end()
    this.#setUpOver.abort()
    this.#stopped.abort()
    for (const { runner } of this.#members) runner.halt()
    if (this.#areTasksStarted) {
      await Promise.all(this.#members.map(({ runner }) => runner.ended))
      await this.#saved()
    }
    this.#ended.resolve()
  }

  /** Its tasks, in the order of the job. */
  get tasks(): readonly TaskControl[] {
    return this.#members.map(({ runner }) => runner)
  }

  /** Fault `task-unknown` that names the tasks there are. */
  task(name: string): TaskControl {
    return getTask(this.#runners, name)
  }

  /**
   * Resolves when the old processes have ended. Faults `allocation-ended` when it should not run,
   * `task-unknown`, `task-not-running`.
   */
  async restart(request: AllocationRestart): Promise<void> {
    this.#requireLive()
    const startOvers = request.allTasks ? 1 : 0
    this.#startOvers += startOvers
    const restarted = restartTasks(this.#runners, request)
    this.#changed()
    await restarted.finally(() => {
      this.#startOvers -= startOvers
      this.#changed()
    })
  }

  /** An empty name means all tasks that run. */
  async signal(request: { readonly task: string; readonly signal: string }): Promise<void> {
    this.#requireLive()
    await signalTasks(this.#runners, request)
  }

  get #runners(): readonly TaskRunner[] {
    return this.#members.map(({ runner }) => runner)
  }

  #requireLive(): void {
    const isOver = this.#runners.every(({ state }) => state.State === 'dead')
    if (this.#ending === undefined && !this.#isHalted && !isOver) return
    throw new Fault('allocation-ended', `allocation ${this.id} should not run any more`)
  }

  /** When the last of its tasks ended; undefined while one may still run. */
  get endedMs(): number | undefined {
    const states = this.#runners.map(({ state }) => state)
    if (states.some(({ State }) => State !== 'dead')) return undefined
    return Math.max(...states.map(({ FinishedAt }) => Date.parse(FinishedAt)))
  }

  /** How it stands now. */
  currentReport(): AllocationReport {
    const states = this.#members.map(({ runner }) => [runner.name, runner.state] as const)
    const summary = summarize(states.map(([, state]) => state))
    const TaskStates = Object.fromEntries(states)
    const told = { ID: this.id, TaskStates, ...this.#network() }
    const { word } = this.#health
    const isOver = states.every(([, state]) => state.State === 'dead')
    if (!this.#isExpired || !isOver) return { ...told, ...summary, ...word }
    // Reaching max_run_duration is an end, not a failure.
    const limit = formatDurationNs(this.#assignment.group.MaxRunDuration ?? 0)
    const ClientDescription = `Stopped after its maximum run duration of ${limit}`
    return { ...told, ClientStatus: 'complete', ClientDescription }
  }

  /** Where it is reached, while it has a network of its own. */
  #network(): Pick<AllocationReport, 'NetworkStatus'> {
    const { networks } = this.#options.host
    const network = networks?.find(this.id)
    const { address = '', addressIPv6 = '' } = network ?? {}
    if (network === undefined || address + addressIPv6 === '') return {}
    return { NetworkStatus: networkStatus(this.group, network) }
  }

  #member(task: AgentTask, record: TaskRecord | undefined): Member {
    const runner = new TaskRunner({
      host: this.#options.host,
      assignment: this.#assignment,
      task,
      record,
      changed: () => this.#changed(),
      save: () => this.#saveTasks.run(),
    })
    return { runner, stage: stageOf(task.Lifecycle), leader: task.Leader }
  }

  #records(): TaskRecords {
    return Object.fromEntries(this.#members.map(({ runner }) => [runner.name, runner.record]))
  }

  async #writeTasks(): Promise<void> {
    const records = this.#records()
    const isWritten = Object.entries(records).every(([name, record]) => {
      return ownValue(this.#written, name) === record
    })
    if (isWritten) return
    await this.#options.host.store.saveTasks(this.id, records)
    this.#written = records
  }

  async #run(): Promise<void> {
    const failure = await this.#setUp(this.#wasBegun())
    if (this.#isHalted) return
    this.#isOpen = true
    if (failure === undefined) {
      this.#areTasksStarted = true
      this.#health.begin()
      this.#beginServices()
      for (const { runner } of this.#members) runner.start()
      this.#watchDuration()
      this.#watchDisk()
      if (isServerTerminal(this.#assignment.allocation)) void this.stop()
    } else {
      for (const { runner } of this.#members) runner.fail(failure)
    }
    this.#changed()
  }

  /** An agent before this one had already set the allocation up. */
  #wasBegun(): boolean {
    return this.#members.some(({ runner: { record } }) => {
      return record.attempt > 0 || record.state.State === 'dead'
    })
  }

  /** The steps before the tasks; the text of what failed, if something did. */
  async #setUp(wasBegun: boolean): Promise<string | undefined> {
    const { host } = this.#options
    const { signal } = this.#setUpOver
    // What is over needs nothing any more.
    if (this.#runners.every(({ state }) => state.State === 'dead')) return undefined
    const endOf = (id: string): Promise<void> => this.#options.endOf(id)
    try {
      // What the servers said must be on the disk before anything follows from it.
      if (!wasBegun) await this.#saveAssignment.run()
      for (const hook of ALLOCATION_HOOKS) {
        if (signal.aborted) return undefined
        if (wasBegun && hook.always !== true) continue
        await hook.beforeTasks({ assignment: this.#assignment, host, endOf, signal })
      }
      return undefined
    } catch (thrown) {
      return `failed to set up the allocation: ${redactPaths(errorMessage(thrown))}`
    }
  }

  /**
   * Something happened to a task. Acted on once per turn: several changes of one moment are one
   * review.
   */
  #changed(): void {
    if (this.#isReviewDue || !this.#isOpen) return
    this.#isReviewDue = true
    queueMicrotask(() => {
      this.#isReviewDue = false
      if (!this.#isHalted) this.#review()
    })
  }

  #review(): void {
    const decision = decideGroup(
      this.#members.map(({ runner, stage, leader }) => ({
        name: runner.name,
        stage,
        leader,
        state: runner.state,
        admitted: runner.isAdmitted,
      })),
    )
    const admit = this.#startOvers === 0 ? decision.admit : []
    for (const { runner } of this.#members) if (admit.includes(runner.name)) runner.admit()
    if (decision.end !== undefined) void this.#end(decision.end)
    this.#judgeHealth()
    this.#saveSoon()
    this.#report()
    if (decision.done) this.#finish()
  }

  /** Each look of a check comes here, and most find everything as it was. */
  #report(): void {
    const report = this.currentReport()
    if (isEqual(report, this.#reported)) return
    this.#reported = report
    this.#options.report(report)
  }

  #judgeHealth(): void {
    const late = this.#health.review(
      this.#members.map(({ runner, stage }) => ({ name: runner.name, stage, state: runner.state })),
      this.#options.host.services?.health(this.id),
    )
    for (const { task, reason } of late)
      this.#members
        .find(({ runner }) => runner.name === task)
        ?.runner.tell('Alloc Unhealthy', reason)
  }

  /** Those of the group are registered before a task begins. */
  #beginServices(): void {
    const isOver = this.#runners.every(({ state }) => state.State === 'dead')
    if (isOver || isServerTerminal(this.#assignment.allocation)) return
    const isResuming = ({ record }: TaskRunner): boolean => record.handle !== null
    this.#options.host.services?.begin({
      assignment: this.#assignment,
      tasks: this.tasks,
      resuming: this.#runners.filter(isResuming).map(({ name }) => name),
      changed: () => this.#changed(),
    })
  }

  #finish(): void {
    this.#options.host.services?.ended(this.id)
    this.#stopped.abort()
    void this.#cleanUp().then(() => this.#ended.resolve())
  }

  async #cleanUp(): Promise<void> {
    const { host } = this.#options
    await this.#saved()
    await tearDownNetwork({ assignment: this.#assignment, host })
  }

  #watchDisk(): void {
    const { host } = this.#options
    const limitMB = this.#assignment.group.EphemeralDisk?.SizeMB ?? 0
    void watchDisk({
      clock: host.clock,
      log: host.log,
      limitMB,
      signal: this.#stopped.signal,
      measure: () => host.workspace.measure(this.id),
      exceeded: (usedMB) => {
        const text = `The group takes ${usedMB} MB of the disk; it asked for ${limitMB} MB`
        const living = this.#runners.filter(({ state }) => state.State !== 'dead')
        for (const runner of living) {
          runner.tell('Disk Resources Exceeded', text, { DiskLimit: limitMB })
        }
      },
    })
  }

  /**
   * What must not be lost is saved by the task itself before it acts; the rest, such as the event
   * of a start, follows from that after a crash, and is worth one write for many changes.
   */
  #saveSoon(): void {
    this.#cancelSave ??= this.#options.host.clock.after(AGENT_LIMITS.saveMs, () => {
      void this.#saved()
    })
  }

  async #saved(): Promise<void> {
    const { host } = this.#options
    this.#cancelSave?.()
    this.#cancelSave = undefined
    try {
      await this.#saveTasks.run()
    } catch (thrown) {
      const fields = { allocation: this.id, error: errorMessage(thrown) }
      host.log.error(fields, 'state of the allocation not saved')
    }
  }

  #end(reason: EndReason | undefined, text?: string): Promise<void> {
    // Who is told to end is not unhealthy for it.
    if (reason === undefined) this.#health.end()
    this.#setUpOver.abort()
    this.#ending ??= this.#endInOrder(reason, text)
    return this.#ending
  }

  /** The leader, then the others, then the sidecars. */
  async #endInOrder(reason: EndReason | undefined, text?: string): Promise<void> {
    const { allocation, group } = this.#assignment
    this.#options.host.services?.ending(this.id)
    const delayMs = msFromNs(group.ShutdownDelay ?? 0)
    if (delayMs > 0 && !skipsDelays(this.#assignment) && this.#hasRunning()) {
      const enough = AbortSignal.any([this.#stopped.signal, this.#delaySkipped.signal])
      await pause(this.#options.host.clock, delayMs, enough)
      if (this.#isHalted) return
    }
    const skipShutdownDelay = skipsDelays(this.#assignment)
    const reasonText = reason === undefined ? (text ?? allocation.DesiredDescription) : ''
    const request = { skipShutdownDelay, reason: reasonText, ...causeOf(reason) }
    const order = [
      this.#members.filter((member) => member.leader && !isSidecar(member.stage)),
      this.#members.filter((member) => !member.leader && !isSidecar(member.stage)),
      this.#members.filter((member) => isSidecar(member.stage)),
    ]
    for (const members of order) {
      const due = members.filter((member) => member.stage !== 'poststop' || this.#isExpired)
      await Promise.all(due.map(({ runner }) => runner.kill(request)))
    }
  }

  #hasRunning(): boolean {
    return this.#members.some(({ runner }) => runner.state.State === 'running')
  }

  /** Batch allocations may be given a time, counted from their creation. */
  #watchDuration(): void {
    const { allocation, group, job } = this.#assignment
    const limitNs = group.MaxRunDuration ?? 0
    if (limitNs <= 0 || !isBatchType(job.Type)) return
    const { clock } = this.#options.host
    const limitMs = msFromNs(limitNs)
    // The clocks of servers and nodes may differ: never longer than the whole time.
    const leftMs = Math.min(limitMs, msFromNs(allocation.CreateTime) + limitMs - clock.nowMs())
    void this.#expireAfter(Math.max(0, leftMs))
  }

  async #expireAfter(delayMs: number): Promise<void> {
    const passed = await pause(this.#options.host.clock, delayMs, this.#stopped.signal)
    if (!passed || this.#members.every(({ runner }) => runner.state.State === 'dead')) return
    this.#isExpired = true
    await this.stop()
  }
}

/** For an allocation that nobody waits for any more. */
const AT_ONCE: KillRequest = { reason: '', skipShutdownDelay: true }

function causeOf(reason: EndReason | undefined): Pick<KillRequest, 'cause'> {
  switch (reason?.kind) {
    case 'leader-dead':
      return { cause: { type: 'Leader Task Dead' } }
    case 'sibling-failed':
      return {
        cause: { type: 'Sibling Task Failed', fields: { FailedSibling: reason.sibling } },
      }
    case 'main-dead':
      return { cause: { type: 'Main Tasks Dead' } }
    case undefined:
      return {}
  }
}
