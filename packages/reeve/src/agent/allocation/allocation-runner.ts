import type { AllocationNetworkStatus, TaskState } from '@reeve/contract'
import { formatDurationNs, msFromNs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage, redactPaths } from '@reeve/kit/fault.ts'
import { isEqual, isServerTerminal } from '../../model/index.ts'
import type { AgentTask, AgentTaskGroup, Assignment } from '../assignment.ts'
import type { AgentContext } from '../agent-context.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { toNetworkStatus } from '../network/allocation-network.ts'
import { getOwn } from '../node-info.ts'
import { CoalescedRun, sleep } from '../timing.ts'
import type { TaskRecord, TaskRecords } from '../store/agent-store.ts'
import { skipsShutdownDelay } from '../task/kill-task.ts'
import type { KillRequest, TaskControl } from '../task/task-control.ts'
import { TaskRunner } from '../task/task-runner.ts'
import { ALLOCATION_HOOKS, tearDownNetwork } from './allocation-hooks.ts'
import {
  clientStatusOf,
  type AllocationStatus,
  coordinateTasks,
  inKillOrder,
  killCauseOf,
  remainingRunMs,
  stageOf,
  type GroupKillReason,
  type Stage,
} from './lifecycle.ts'
import { watchDisk } from '../store/disk-usage.ts'
import { HealthTracker, type ReportedHealth } from './health-tracker.ts'
import { getTask, restartTasks, signalTasks, type AllocationRestart } from './restart-tasks.ts'

/** Status of one allocation as reported to the servers. */
interface AllocationReport extends AllocationStatus, ReportedHealth {
  readonly ID: string
  readonly TaskStates: Readonly<Record<string, TaskState>>
  readonly NetworkStatus?: AllocationNetworkStatus
}

interface AllocationRunnerOptions {
  readonly agent: AgentContext
  readonly assignment: Assignment
  /** Records saved by the previous agent; empty for a new allocation. */
  readonly savedTasks: TaskRecords
  /**
   * Called with every change that the servers should know, and not again with an equal report.
   * After a reconnect `currentReport` is sent.
   */
  report(report: AllocationReport): void
  /**
   * Resolves when the other allocation has terminated on this node, immediately if it never ran
   * here.
   */
  awaitTermination(allocationId: string): Promise<void>
}

interface TaskSlot {
  readonly runner: TaskRunner
  readonly stage: Stage
  readonly isLeader: boolean
}

/**
 * Runs the tasks of one allocation: starts each in its lifecycle stage, stops all when the group
 * ends, and reports the status. `coordinateTasks` decides; this class executes the decisions.
 */
export class AllocationRunner {
  readonly id: string
  readonly name: string
  readonly #options: AllocationRunnerOptions
  readonly #taskSlots: readonly TaskSlot[]
  readonly #saveTasks: CoalescedRun
  readonly #saveAssignment: CoalescedRun
  readonly #healthTracker: HealthTracker
  #assignment: Assignment
  /** The task records as last saved. */
  #savedTasks: TaskRecords = {}
  #lastReport: AllocationReport | undefined
  #cancelSave: (() => void) | undefined
  #termination: Promise<void> | undefined
  #isShutDown = false
  #hasReachedMaxRunDuration = false
  /** False until the allocation itself is saved: nothing may be reported or started before. */
  #isPersisted = false
  #areTasksStarted = false
  #isReconcileScheduled = false
  /** Restarts of all tasks whose old processes have not ended yet; no task is started meanwhile. */
  #pendingFullRestarts = 0
  /** Aborted when the setup is no longer needed: the allocation is stopped, or the agent stops. */
  readonly #setupAborted = new AbortController()
  /** Aborted when the servers request to skip the shutdown delay. */
  readonly #shutdownDelaySkipped = new AbortController()
  /** Aborted when no timer of the allocation is needed any more. */
  readonly #timersStopped = new AbortController()
  readonly #terminated = Promise.withResolvers<void>()

  constructor(options: AllocationRunnerOptions) {
    const { assignment, agent, savedTasks } = options
    this.#options = options
    this.#assignment = assignment
    this.id = assignment.allocation.ID
    this.name = assignment.allocation.Name
    this.#saveTasks = new CoalescedRun(() => this.#writeTasks())
    this.#saveAssignment = new CoalescedRun(() => agent.store.saveAssignment(this.#assignment))
    this.#healthTracker = new HealthTracker({
      clock: agent.clock,
      scheduleReevaluation: () => this.#scheduleReconcile(),
    })
    this.#taskSlots = assignment.group.Tasks.map((task) =>
      this.#createTaskSlot(task, getOwn(savedTasks, task.Name)),
    )
  }

  /**
   * Resolves when no task of the allocation will run again here, or when the runner was shut down.
   * Never rejects.
   */
  get terminated(): Promise<void> {
    return this.#terminated.promise
  }

  start(): void {
    this.#healthTracker.update(this.#assignment)
    void this.#run()
  }

  /** Applies a changed assignment from the servers. */
  async update(assignment: Assignment): Promise<void> {
    this.#assignment = assignment
    for (const { runner } of this.#taskSlots) {
      const task = assignment.group.Tasks.find((candidate) => candidate.Name === runner.name)
      if (task !== undefined) runner.update(assignment, task)
    }
    this.#options.agent.services?.update(assignment)
    this.#healthTracker.update(assignment)
    if (skipsShutdownDelay(assignment)) this.#shutdownDelaySkipped.abort()
    if (isServerTerminal(assignment.allocation)) void this.stop()
    else if (this.#healthTracker.isUndecided) this.#scheduleReconcile()
    await this.#saveAssignment.run()
  }

  /** The group of the latest assignment. */
  get group(): AgentTaskGroup {
    return this.#assignment.group
  }

  /**
   * Kills the tasks in order, then runs the poststop tasks. Idempotent. The reason is the one of
   * the servers unless given.
   */
  stop(reason?: string): Promise<void> {
    return this.#terminate(undefined, reason)
  }

  /**
   * Kills everything immediately, including poststop tasks, because the servers removed the
   * allocation.
   */
  async destroy(): Promise<void> {
    await this.stop()
    await Promise.all(this.#taskSlots.map(({ runner }) => runner.kill(IMMEDIATE_KILL)))
  }

  /** Shuts the runner down while the tasks continue. Resolves when the current state is saved. */
  async shutdown(): Promise<void> {
    this.#isShutDown = true
    this.#options.agent.services?.shutdown(this.id)
    this.#healthTracker.stop()
    this.#setupAborted.abort()
    this.#timersStopped.abort()
    for (const { runner } of this.#taskSlots) runner.shutdown()
    if (this.#areTasksStarted) {
      await Promise.all(this.#taskSlots.map(({ runner }) => runner.terminated))
      await this.#saveNow()
    }
    this.#terminated.resolve()
  }

  /** Tasks in the order of the job. */
  get tasks(): readonly TaskControl[] {
    return this.#taskSlots.map(({ runner }) => runner)
  }

  /** Returns the task. Fault `task-unknown` that lists the existing tasks. */
  task(name: string): TaskControl {
    return getTask(this.#runners, name)
  }

  /**
   * Resolves when the old processes have ended. Faults `allocation-ended` if the allocation should
   * not run, `task-unknown`, `task-not-running`.
   */
  async restart(request: AllocationRestart): Promise<void> {
    this.#requireNotTerminated()
    const fullRestarts = request.allTasks ? 1 : 0
    this.#pendingFullRestarts += fullRestarts
    const restarted = restartTasks(this.#runners, request)
    this.#scheduleReconcile()
    await restarted.finally(() => {
      this.#pendingFullRestarts -= fullRestarts
      this.#scheduleReconcile()
    })
  }

  /** Signals a task, or all running tasks if the name is empty. */
  async signal(request: { readonly taskName: string; readonly signal: string }): Promise<void> {
    this.#requireNotTerminated()
    await signalTasks(this.#runners, request)
  }

  get #runners(): readonly TaskRunner[] {
    return this.#taskSlots.map(({ runner }) => runner)
  }

  #requireNotTerminated(): void {
    const areAllDead = this.#runners.every(({ state }) => state.State === 'dead')
    if (this.#termination === undefined && !this.#isShutDown && !areAllDead) return
    throw new Fault('allocation-ended', `allocation ${this.id} should not run any more`)
  }

  /** When the last task ended; undefined while a task may still run. */
  get endedMs(): number | undefined {
    const states = this.#runners.map(({ state }) => state)
    if (states.some(({ State }) => State !== 'dead')) return undefined
    return Math.max(...states.map(({ FinishedAt }) => Date.parse(FinishedAt)))
  }

  /** The current report. */
  currentReport(): AllocationReport {
    const taskStates = this.#taskSlots.map(({ runner }) => [runner.name, runner.state] as const)
    const summary = clientStatusOf(taskStates.map(([, state]) => state))
    const TaskStates = Object.fromEntries(taskStates)
    const base = { ID: this.id, TaskStates, ...this.#networkStatus() }
    const { reported } = this.#healthTracker
    const isDead = taskStates.every(([, state]) => state.State === 'dead')
    if (!this.#hasReachedMaxRunDuration || !isDead) return { ...base, ...summary, ...reported }
    // Reaching max_run_duration is an end, not a failure.
    const limit = formatDurationNs(this.#assignment.group.MaxRunDuration ?? 0)
    const ClientDescription = `Stopped after its maximum run duration of ${limit}`
    return { ...base, ClientStatus: 'complete', ClientDescription }
  }

  /** Network status, if the allocation has its own network. */
  #networkStatus(): Pick<AllocationReport, 'NetworkStatus'> {
    const { networks } = this.#options.agent
    const network = networks?.find(this.id)
    const { address = '', addressIPv6 = '' } = network ?? {}
    if (network === undefined || address + addressIPv6 === '') return {}
    return { NetworkStatus: toNetworkStatus(this.group, network) }
  }

  #createTaskSlot(task: AgentTask, record: TaskRecord | undefined): TaskSlot {
    const runner = new TaskRunner({
      agent: this.#options.agent,
      assignment: this.#assignment,
      task,
      savedRecord: record,
      onChange: () => this.#scheduleReconcile(),
      save: () => this.#saveTasks.run(),
    })
    return { runner, stage: stageOf(task.Lifecycle), isLeader: task.Leader }
  }

  #taskRecords(): TaskRecords {
    return Object.fromEntries(this.#taskSlots.map(({ runner }) => [runner.name, runner.record]))
  }

  async #writeTasks(): Promise<void> {
    const records = this.#taskRecords()
    const isUnchanged = Object.entries(records).every(([name, record]) => {
      return getOwn(this.#savedTasks, name) === record
    })
    if (isUnchanged) return
    await this.#options.agent.store.saveTasks(this.id, records)
    this.#savedTasks = records
  }

  async #run(): Promise<void> {
    const failure = await this.#setUp(this.#wasSetUpBefore())
    if (this.#isShutDown) return
    this.#isPersisted = true
    if (failure === undefined) {
      this.#areTasksStarted = true
      this.#healthTracker.restartClock()
      this.#registerServices()
      for (const { runner } of this.#taskSlots) runner.start()
      this.#enforceMaxRunDuration()
      this.#watchDisk()
      if (isServerTerminal(this.#assignment.allocation)) void this.stop()
    } else {
      for (const { runner } of this.#taskSlots) runner.failSetup(failure)
    }
    this.#scheduleReconcile()
  }

  /** Whether the previous agent had already set the allocation up. */
  #wasSetUpBefore(): boolean {
    return this.#taskSlots.some(({ runner: { record } }) => {
      return record.attempt > 0 || record.state.State === 'dead'
    })
  }

  /** Runs the hooks before the tasks; returns the failure, if any. */
  async #setUp(wasSetUpBefore: boolean): Promise<string | undefined> {
    const { agent } = this.#options
    const { signal } = this.#setupAborted
    // A terminal allocation needs no setup.
    if (this.#runners.every(({ state }) => state.State === 'dead')) return undefined
    const endOf = (id: string): Promise<void> => this.#options.awaitTermination(id)
    try {
      // The assignment must be durable before anything follows from it.
      if (!wasSetUpBefore) await this.#saveAssignment.run()
      for (const hook of ALLOCATION_HOOKS) {
        if (signal.aborted) return undefined
        if (wasSetUpBefore && hook.runsOnRestore !== true) continue
        await hook.prepare({ assignment: this.#assignment, agent, awaitTermination: endOf, signal })
      }
      return undefined
    } catch (thrown) {
      return `failed to set up the allocation: ${redactPaths(errorMessage(thrown))}`
    }
  }

  /** Schedules one reconcile per microtask for any number of changes. */
  #scheduleReconcile(): void {
    if (this.#isReconcileScheduled || !this.#isPersisted) return
    this.#isReconcileScheduled = true
    queueMicrotask(() => {
      this.#isReconcileScheduled = false
      if (!this.#isShutDown) this.#reconcile()
    })
  }

  #reconcile(): void {
    const decision = coordinateTasks(
      this.#taskSlots.map(({ runner, stage, isLeader }) => ({
        name: runner.name,
        stage,
        isLeader,
        state: runner.state,
        isAdmitted: runner.isAllowedNow,
      })),
    )
    const admit = this.#pendingFullRestarts === 0 ? decision.admit : []
    for (const { runner } of this.#taskSlots) if (admit.includes(runner.name)) runner.admit()
    if (decision.killReason !== undefined) void this.#terminate(decision.killReason)
    this.#evaluateHealth()
    this.#scheduleSave()
    this.#reportIfChanged()
    if (decision.isDone) this.#finish()
  }

  /** Reports only changes: most results of checks change nothing. */
  #reportIfChanged(): void {
    const report = this.currentReport()
    if (isEqual(report, this.#lastReport)) return
    this.#lastReport = report
    this.#options.report(report)
  }

  #evaluateHealth(): void {
    const unhealthy = this.#healthTracker.evaluate(
      this.#taskSlots.map(({ runner, stage }) => ({
        name: runner.name,
        stage,
        state: runner.state,
      })),
      this.#options.agent.services?.health(this.id),
    )
    for (const { task, reason } of unhealthy)
      this.#taskSlots
        .find(({ runner }) => runner.name === task)
        ?.runner.addEvent('Alloc Unhealthy', reason)
  }

  /** Registers the services of the group before a task starts. */
  #registerServices(): void {
    const areAllDead = this.#runners.every(({ state }) => state.State === 'dead')
    if (areAllDead || isServerTerminal(this.#assignment.allocation)) return
    const isResuming = ({ record }: TaskRunner): boolean => record.handle !== null
    this.#options.agent.services?.registerAllocation({
      assignment: this.#assignment,
      tasks: this.tasks,
      resuming: this.#runners.filter(isResuming).map(({ name }) => name),
      onHealthChanged: () => this.#scheduleReconcile(),
    })
  }

  #finish(): void {
    this.#options.agent.services?.onAllocationTerminated(this.id)
    this.#timersStopped.abort()
    void this.#cleanUp().then(() => this.#terminated.resolve())
  }

  async #cleanUp(): Promise<void> {
    const { agent } = this.#options
    await this.#saveNow()
    await tearDownNetwork({ assignment: this.#assignment, agent })
  }

  #watchDisk(): void {
    const { agent } = this.#options
    const limitMB = this.#assignment.group.EphemeralDisk?.SizeMB ?? 0
    void watchDisk({
      clock: agent.clock,
      log: agent.log,
      limitMB,
      signal: this.#timersStopped.signal,
      measure: () => agent.workspace.allocationSize(this.id),
      onExceeded: (usedMB) => {
        const message = `The group takes ${usedMB} MB of the disk; it asked for ${limitMB} MB`
        const liveRunners = this.#runners.filter(({ state }) => state.State !== 'dead')
        for (const runner of liveRunners) {
          runner.addEvent('Disk Resources Exceeded', message, { DiskLimit: limitMB })
        }
      },
    })
  }

  /**
   * Saves soon. Changes that must not be lost are saved by the task before it acts; the rest, such
   * as a start event, can be reproduced after a crash, so many changes share one write.
   */
  #scheduleSave(): void {
    this.#cancelSave ??= this.#options.agent.clock.after(AGENT_LIMITS.saveDebounceMs, () => {
      void this.#saveNow()
    })
  }

  async #saveNow(): Promise<void> {
    const { agent } = this.#options
    this.#cancelSave?.()
    this.#cancelSave = undefined
    try {
      await this.#saveTasks.run()
    } catch (thrown) {
      const fields = { allocation: this.id, error: errorMessage(thrown) }
      agent.log.error(fields, 'state of the allocation not saved')
    }
  }

  #terminate(reason: GroupKillReason | undefined, description?: string): Promise<void> {
    // An allocation that is told to stop is not unhealthy because of it.
    if (reason === undefined) this.#healthTracker.stop()
    this.#setupAborted.abort()
    this.#termination ??= this.#killTasksInOrder(reason, description)
    return this.#termination
  }

  /** Kills the leader, then the other tasks, then the sidecars. */
  async #killTasksInOrder(
    reason: GroupKillReason | undefined,
    description?: string,
  ): Promise<void> {
    const { allocation, group } = this.#assignment
    this.#options.agent.services?.onAllocationStopping(this.id)
    const delayMs = msFromNs(group.ShutdownDelay ?? 0)
    if (delayMs > 0 && !skipsShutdownDelay(this.#assignment) && this.#hasRunning()) {
      const delayEnded = AbortSignal.any([
        this.#timersStopped.signal,
        this.#shutdownDelaySkipped.signal,
      ])
      await sleep(this.#options.agent.clock, delayMs, delayEnded)
      if (this.#isShutDown) return
    }
    const skipShutdownDelay = skipsShutdownDelay(this.#assignment)
    const killReason = reason === undefined ? (description ?? allocation.DesiredDescription) : ''
    const request = { skipShutdownDelay, reason: killReason, ...killCauseOf(reason) }
    for (const slots of inKillOrder(this.#taskSlots)) {
      const toKill = slots.filter(
        (slot) => slot.stage !== 'poststop' || this.#hasReachedMaxRunDuration,
      )
      await Promise.all(toKill.map(({ runner }) => runner.kill(request)))
    }
  }

  #hasRunning(): boolean {
    return this.#taskSlots.some(({ runner }) => runner.state.State === 'running')
  }

  #enforceMaxRunDuration(): void {
    const remainingMs = remainingRunMs(this.#assignment, this.#options.agent.clock.nowMs())
    if (remainingMs !== undefined) void this.#stopAfter(remainingMs)
  }

  async #stopAfter(delayMs: number): Promise<void> {
    const passed = await sleep(this.#options.agent.clock, delayMs, this.#timersStopped.signal)
    if (!passed || this.#taskSlots.every(({ runner }) => runner.state.State === 'dead')) return
    this.#hasReachedMaxRunDuration = true
    await this.stop()
  }
}

/** Kill request for an allocation that the servers have removed. */
const IMMEDIATE_KILL: KillRequest = { reason: '', skipShutdownDelay: true }
