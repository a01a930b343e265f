import type { PauseState, TaskEventType, TaskState } from '@reeve/contract'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { jobJsonLength, type AgentTask, type Assignment } from '../assignment.ts'
import type {
  ExecRequest,
  ExecSession,
  RunningTask,
  TaskExit,
  TaskHandle,
  TaskLaunch,
  TaskUsage,
} from '../driver.ts'
import type { AgentContext } from '../agent-context.ts'
import { getSignal } from '../signals.ts'
import type { TaskRecord } from '../store/agent-store.ts'
import { sleep } from '../timing.ts'
import {
  newDriverContext,
  buildHookContext,
  prepareLaunch,
  recordStartFailure,
  startLaunch,
  interruptedKill,
  recoverTask,
  remainingRestartDelayMs,
} from './launch.ts'
import {
  emitKillEvents,
  killTask,
  killTimeoutMs,
  markKilled,
  notRunningFault,
  skipsShutdownDelay,
  terminatedEvent,
  waitShutdownDelay,
} from './kill-task.ts'
import { type TaskHookContext, TaskHookRunner } from './task-hook.ts'
import { applyRestartPolicy, restartOnRequest } from './restarts.ts'
import type { ExitCause } from './restart-policy.ts'
import { ScheduleGate } from './schedule-gate.ts'
import type { KillRequest, RestartRequest, TaskControl } from './task-control.ts'
import type { TaskEventFields } from './task-event.ts'
import { TaskRecorder } from './task-recorder.ts'
import { TaskRequests } from './task-requests.ts'
import { assertStepTransition, DONE_STEP, type Step } from './task-state.ts'

interface TaskRunnerOptions {
  readonly agent: AgentContext
  readonly assignment: Assignment
  readonly task: AgentTask
  /** Record saved by the previous agent. */
  readonly savedRecord: TaskRecord | undefined
  /** Called after every change of the record. */
  onChange(): void
  /** Resolves when the current record is durable. */
  save(): Promise<void>
}

/**
 * Runs one task of one allocation, from the wait for its lifecycle stage to its final end. All
 * state that decisions depend on is in its saved record, so that another runner can continue after
 * a crash.
 */
export class TaskRunner implements TaskControl {
  readonly name: string
  readonly #options: TaskRunnerOptions
  readonly #recorder: TaskRecorder
  readonly #hookRunner: TaskHookRunner
  readonly #requests: TaskRequests
  #assignment: Assignment
  #task: AgentTask
  readonly #scheduleGate: ScheduleGate
  #running: RunningTask | undefined
  #terminated = Promise.withResolvers<void>()

  constructor(options: TaskRunnerOptions) {
    const { agent, savedRecord } = options
    this.#options = options
    this.name = options.task.Name
    this.#assignment = options.assignment
    this.#task = options.task
    this.#recorder = new TaskRecorder({
      clock: agent.clock,
      log: agent.log,
      logFields: { allocation: options.assignment.allocation.ID, task: this.name },
      savedRecord,
      onChange: () => options.onChange(),
    })
    this.#hookRunner = new TaskHookRunner(agent.taskHooks, this.#recorder)
    this.#scheduleGate = new ScheduleGate(agent.clock, this.#recorder, options.task.Schedule)
    this.#requests = new TaskRequests({ isAdmitted: this.record.attempt > 0 })
    // The driver can warm up while the allocation is saved and set up.
    if (savedRecord === undefined) this.#prewarmDriver()
  }

  get record(): TaskRecord {
    return this.#recorder.record
  }

  get state(): TaskState {
    return this.#recorder.state
  }

  /** Whether the task was allowed to start. */
  get isAllowedNow(): boolean {
    return this.#requests.isAdmitted
  }

  /** Resolves when the task is dead or the runner was shut down. Never rejects. */
  get terminated(): Promise<void> {
    return this.#terminated.promise
  }

  start(): void {
    void this.#run({ at: 'restore' })
  }

  /** Allows the task to start. */
  admit(): void {
    this.#requests.admit()
  }

  /** Applies a job change that needs no new process, such as restart policy or kill settings. */
  update(assignment: Assignment, task: AgentTask): void {
    this.#assignment = assignment
    this.#task = task
    this.#hookRunner.update(assignment, task)
    this.#scheduleGate.update(task.Schedule)
    if (skipsShutdownDelay(assignment)) this.#requests.skipShutdownDelay()
  }

  restart({ reason, usesRestartPolicy = false }: RestartRequest): Promise<void> {
    if (this.#findLiveTask() === undefined) return Promise.reject(notRunningFault(this.name))
    const pendingRestart = { reason, mode: usesRestartPolicy ? 'by-policy' : 'at-once' } as const
    // A check keeps failing while the task is being killed for it.
    if (!this.#requests.restarts.isCovered(pendingRestart))
      this.#recorder.emitEvent('Restart Signaled', { RestartReason: reason })
    return this.#requests.restarts.request(pendingRestart)
  }

  /**
   * Returns the task to its start gate, whatever its state, even if it is dead; the allocation
   * opens the gates in order again. Resolves when no process of the task is left.
   */
  restartFromGate(reason: string): Promise<void> {
    if (this.#requests.killRequest !== undefined || this.#requests.isShutDown)
      return Promise.reject(notRunningFault(this.name))
    // A task that waits at its gate has nothing to restart.
    if (this.state.State === 'pending' && !this.#requests.isAdmitted) return Promise.resolve()
    this.#recorder.emitEvent('Restart Signaled', { RestartReason: reason })
    this.#requests.revokeAdmission()
    if (this.state.State !== 'dead')
      return this.#requests.restarts.request({ reason, mode: 'from-gate' })
    this.#recorder.resetForRestart(reason)
    this.#terminated = Promise.withResolvers<void>()
    void this.#run({ at: 'gate' })
    return Promise.resolve()
  }

  async overrideSchedule(pauseState: PauseState): Promise<void> {
    this.#scheduleGate.override(pauseState)
    await this.#options.save()
  }

  async signal(name: string, reason = ''): Promise<void> {
    const running = this.#findLiveTask()
    if (running === undefined) throw notRunningFault(this.name)
    const signal = getSignal(name)
    // Recorded first: the signal may end the task.
    this.#recorder.emitEvent('Signaling', { TaskSignal: signal.name, TaskSignalReason: reason })
    await running.signal(signal.name)
  }

  async exec(request: ExecRequest): Promise<ExecSession> {
    const running = this.#findLiveTask()
    if (running === undefined) throw notRunningFault(this.name)
    return running.exec(request)
  }

  async usage(): Promise<TaskUsage | undefined> {
    return this.#findLiveTask()?.usage()
  }

  #findLiveTask(): RunningTask | undefined {
    const { killRequest, isShutDown } = this.#requests
    const isLive = this.state.State === 'running' && killRequest === undefined && !isShutDown
    return isLive ? this.#running : undefined
  }

  kill(request: KillRequest): Promise<void> {
    if (this.#requests.killRequest !== undefined || this.state.State === 'dead')
      return this.terminated
    emitKillEvents(this.#recorder, request, killTimeoutMs(this.#task, this.#options.agent))
    this.#requests.kill(request)
    return this.terminated
  }

  /** Fails a task that was never started because the setup of the allocation failed. */
  failSetup(message: string): void {
    this.#recorder.emitEvent('Setup Failure', { SetupError: message, FailsTask: true })
    this.#recorder.setState('dead')
    this.#terminated.resolve()
  }

  addEvent(type: TaskEventType, message: string, fields: TaskEventFields = {}): void {
    this.#recorder.emitEvent(type, { ...fields, Message: message })
  }

  /** Shuts the runner down while the task continues. */
  shutdown(): void {
    this.#requests.shutDown()
  }

  async #run(first: Step): Promise<void> {
    let step = first
    try {
      while (step.at !== 'end') {
        const next: Step = await this.#runStep(step)
        assertStepTransition(step.at, next.at)
        step = next
      }
    } catch (thrown) {
      // A bug in the runner must only affect this task, and must not look like success.
      this.#logError('task runner failed', thrown)
      if (this.state.State !== 'dead') this.failSetup(`agent failure: ${errorMessage(thrown)}`)
    }
    this.#hookRunner.close()
    this.#requests.restarts.resolve()
    this.#terminated.resolve()
  }

  #runStep(step: Exclude<Step, { at: 'end' }>): Promise<Step> {
    switch (step.at) {
      case 'restore':
        return this.#restore()
      case 'gate':
        return this.#waitForGate()
      case 'prepare':
        return this.#prepare()
      case 'watch':
        return this.#watch(step.running)
      case 'stop':
        return this.#stopForGood(step.running)
      case 'renew':
        return this.#restartProcess(step.running)
      case 'delay':
        return this.#waitForRestart(step.delayMs)
    }
  }

  /**
   * Next step after a wait or an operation was interrupted by a kill or by the stop of the agent.
   */
  #stepAfterInterruption(): Step | undefined {
    if (this.#requests.isShutDown) return DONE_STEP
    if (this.#requests.killRequest !== undefined) return markKilled(this.#recorder)
    if (this.#requests.restarts.pending?.mode !== 'from-gate') return undefined
    this.#requests.restarts.resolve()
    return { at: 'gate' }
  }

  async #restore(): Promise<Step> {
    const { handle, state } = this.record
    if (state.State === 'dead') return DONE_STEP
    if (handle === null) {
      const delayMs = remainingRestartDelayMs(state, this.#options.agent.clock.nowMs())
      return delayMs === undefined ? { at: 'gate' } : { at: 'delay', delayMs }
    }
    const isKilling = this.#resumeInterruptedKill()
    const context = newDriverContext(this.#recorder, this.#requests.signal)
    const { shutdown } = this.#requests
    const recovery = await recoverTask(this.#options.agent, { handle, context, shutdown })
    switch (recovery?.kind) {
      case undefined:
        return DONE_STEP
      case 'attached':
        this.#running = recovery.task
        // The agent may have stopped between the start and its event.
        if (state.State !== 'running' && !isKilling) this.#recorder.markStarted()
        this.#resumeHooks()
        if (!isKilling) await this.#hookRunner.afterStart(recovery.task)
        return { at: 'watch', running: recovery.task }
      case 'never-started':
        this.#recorder.patch({ handle: null })
        return { at: 'gate' }
      case 'lost':
        return this.#handleLost(handle, recovery.reason)
    }
  }

  /** Continues a kill that the previous agent had begun; returns whether there was one. */
  #resumeInterruptedKill(): boolean {
    const interrupted = interruptedKill(this.state, skipsShutdownDelay(this.#assignment))
    if (interrupted === undefined || this.#requests.killRequest !== undefined) return false
    this.#requests.kill(interrupted)
    return true
  }

  /** A running task continues even if its references resolve differently now. */
  #resumeHooks(): void {
    try {
      this.#hookRunner.resume(this.#buildHookContext())
    } catch (thrown) {
      this.#logError('hooks of a running task not resumed', thrown)
    }
  }

  /**
   * The task restarts only if a server still wants it. A reboot is no failure of the task; any
   * other loss counts as one.
   */
  async #handleLost(handle: TaskHandle, reason: string): Promise<Step> {
    this.#recorder.emitEvent('Failed Restoring Task', { DriverError: reason })
    this.#recorder.setState('pending')
    await Promise.race([this.#options.agent.firstServerContact, this.#requests.interrupted])
    const interrupted = this.#stepAfterInterruption()
    if (interrupted !== undefined) return interrupted
    this.#recorder.patch({ handle: null })
    const isFailure = handle.bootId === this.#options.agent.bootId
    return isFailure ? this.#applyRestartPolicy({ kind: 'lost' }) : { at: 'prepare' }
  }

  async #waitForGate(): Promise<Step> {
    await this.#requests.waitForAdmission()
    return this.#stepAfterInterruption() ?? { at: 'prepare' }
  }

  async #prepare(): Promise<Step> {
    await this.#scheduleGate.waitUntilOpen(this.#requests.interruptions)
    const interrupted = this.#stepAfterInterruption()
    if (interrupted !== undefined) return interrupted
    try {
      this.#prewarmDriver()
      const launch = await prepareLaunch(this.#options.agent, {
        jobJsonLength: jobJsonLength(this.#assignment.job),
        attempt: this.record.attempt + 1,
        hooks: this.#hookRunner,
        recorder: this.#recorder,
        buildContext: () => this.#buildHookContext(),
      })
      return this.#stepAfterInterruption() ?? { at: 'watch', running: await this.#start(launch) }
    } catch (thrown) {
      // A step before the start that was interrupted by a kill has not failed.
      const interruption = this.record.handle === null ? this.#stepAfterInterruption() : undefined
      if (interruption !== undefined) return interruption
      const cause = recordStartFailure(this.#recorder, thrown)
      return this.#stepAfterInterruption() ?? this.#applyRestartPolicy(cause)
    }
  }

  #buildHookContext(): TaskHookContext {
    return buildHookContext(this.#options.agent, {
      assignment: this.#assignment,
      task: this.#task,
      control: this,
      signal: this.#requests.signal,
    })
  }

  async #start(launch: TaskLaunch): Promise<RunningTask> {
    this.#running = await startLaunch(this.#options.agent, launch, {
      recorder: this.#recorder,
      signal: this.#requests.signal,
      save: () => this.#options.save(),
    })
    this.#recorder.markStarted()
    await this.#hookRunner.afterStart(this.#running)
    return this.#running
  }

  #prewarmDriver(): void {
    this.#options.agent.drivers.get(this.#task.Driver)?.prewarm?.()
  }

  async #watch(running: RunningTask): Promise<Step> {
    const scheduleClosed = { reason: 'end of its schedule', mode: 'by-schedule' } as const
    const unwatchSchedule = this.#scheduleGate.onClose(
      () => void this.#requests.restarts.request(scheduleClosed),
    )
    const exit = await Promise.race([running.exited, ...this.#requests.interruptions])
    unwatchSchedule()
    if (this.#requests.isShutDown) {
      // The next agent recovers the result from the driver.
      running.detach()
      return DONE_STEP
    }
    if (exit === undefined)
      return { at: this.#requests.killRequest === undefined ? 'renew' : 'stop', running }
    return this.#recordExit(running, exit, () => {
      return this.#stepAfterRequestedExit() ?? this.#applyRestartPolicy({ kind: 'exited', exit })
    })
  }

  /** Next step after a requested kill or restart; undefined if the process exited by itself. */
  #stepAfterRequestedExit(): Step | undefined {
    if (this.#requests.killRequest !== undefined) return markKilled(this.#recorder)
    const { pending } = this.#requests.restarts
    if (pending === undefined) return undefined
    return pending.mode === 'by-policy'
      ? this.#applyRestartPolicy({ kind: 'unhealthy' })
      : restartOnRequest(this.#recorder, pending)
  }

  /**
   * Kills the process for a restart. If that fails, the process stays and the caller gets the
   * error.
   */
  async #restartProcess(running: RunningTask): Promise<Step> {
    await this.#hookRunner.beforeStop()
    const { exit, error } = await this.#killProcess(running)
    if (exit === undefined) {
      this.#requests.restarts.reject(new Fault('task-unkillable', error))
      return { at: 'watch', running }
    }
    const next = await this.#recordExit(
      running,
      exit,
      () => this.#stepAfterRequestedExit() ?? DONE_STEP,
    )
    this.#requests.restarts.resolve()
    return next
  }

  #killProcess(running: RunningTask): ReturnType<typeof killTask> {
    const { agent } = this.#options
    const { shutdown } = this.#requests
    return killTask(running, { agent, shutdown, task: this.#task, recorder: this.#recorder })
  }

  async #stopForGood(running: RunningTask): Promise<Step> {
    await this.#hookRunner.beforeStop()
    const { killRequest, shutdown, shutdownDelaySkipped } = this.#requests
    await waitShutdownDelay(this.#recorder, {
      clock: this.#options.agent.clock,
      delayNs: this.#task.ShutdownDelay,
      isSkipped: killRequest?.skipShutdownDelay === true,
      interruptions: [running.exited, shutdown, shutdownDelaySkipped],
    })
    if (this.#requests.isShutDown) {
      running.detach()
      return DONE_STEP
    }
    const { exit, error } = await this.#killProcess(running)
    // The next agent continues a kill that this one could not complete.
    if (exit === undefined && this.#requests.isShutDown) running.detach()
    if (exit === undefined)
      return this.#requests.isShutDown ? DONE_STEP : markKilled(this.#recorder, error)
    return this.#recordExit(running, exit, () => markKilled(this.#recorder))
  }

  /**
   * Records an exit. The exit and the next step are one change of the record, saved before the
   * driver deletes the exit: an agent that is killed in between reaches the same result when it
   * starts again.
   */
  async #recordExit(
    running: RunningTask,
    exit: TaskExit,
    decideNextStep: () => Step,
  ): Promise<Step> {
    await this.#hookRunner.atExit()
    this.#recorder.appendEvent(terminatedEvent(exit))
    this.#recorder.patch({ handle: null })
    const next = decideNextStep()
    try {
      await this.#options.save()
      await running.destroyRecords()
    } catch (thrown) {
      // The driver keeps the exit, so the next agent finds it.
      this.#logError('exit not saved', thrown)
    }
    this.#running = undefined
    await this.#hookRunner.afterExit()
    return next
  }

  #applyRestartPolicy(cause: ExitCause): Step {
    const { agent } = this.#options
    return applyRestartPolicy(this.#recorder, {
      agent,
      assignment: this.#assignment,
      task: this.#task,
      cause,
    })
  }

  async #waitForRestart(delayMs: number): Promise<Step> {
    const cancelDelay = new AbortController()
    const passed = sleep(this.#options.agent.clock, delayMs, cancelDelay.signal)
    await Promise.race([passed, ...this.#requests.interruptions])
    cancelDelay.abort()
    return this.#stepAfterInterruption() ?? { at: 'prepare' }
  }

  #logError(message: string, thrown: unknown): void {
    const fields = { allocation: this.#assignment.allocation.ID, task: this.name }
    this.#options.agent.log.error({ ...fields, error: errorMessage(thrown) }, message)
  }
}
