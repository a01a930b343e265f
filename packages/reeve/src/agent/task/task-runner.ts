import type { PauseState, TaskEventType, TaskState } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { jobJsonLength, type AgentTask, type Assignment } from '../assignment.ts'
import {
  type ExecRequest,
  type ExecSession,
  isRecoverable,
  type RunningTask,
  type TaskExit,
  type TaskHandle,
  type TaskLaunch,
  type TaskUsage,
} from '../driver.ts'
import type { AgentContext } from '../agent-context.ts'
import { getSignal } from '../signals.ts'
import type { TaskRecord } from '../store/agent-store.ts'
import { sleep } from '../timing.ts'
import {
  newDriverContext,
  getDriver,
  buildHookContext,
  prepareLaunch,
  startFailureEvent,
} from './launch.ts'
import {
  killTask,
  killTimeoutMs,
  notRunningFault,
  skipsShutdownDelay,
  terminatedEvent,
  waitShutdownDelay,
} from './kill-task.ts'
import { type TaskHookContext, TaskHookRunner } from './task-hook.ts'
import { interruptedKill, recoverTask, remainingRestartDelayMs } from './recover-task.ts'
import { applyRestartPolicy, PendingRestarts } from './restarts.ts'
import { startWindow, type ExitCause } from './restart-policy.ts'
import { ScheduleGate } from './schedule-gate.ts'
import type { KillRequest, RestartRequest, TaskControl } from './task-control.ts'
import type { TaskEventFields } from './task-event.ts'
import { TaskRecorder } from './task-recorder.ts'
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
  readonly #pendingRestarts = new PendingRestarts()
  #assignment: Assignment
  #task: AgentTask
  #isAdmitted: boolean
  readonly #scheduleGate: ScheduleGate
  #running: RunningTask | undefined
  #killRequest: KillRequest | undefined
  #isShutDown = false
  #admission = Promise.withResolvers<void>()
  readonly #interruption = new AbortController()
  readonly #interrupted = Promise.withResolvers<void>()
  readonly #shutdown = Promise.withResolvers<void>()
  readonly #shutdownDelaySkipped = Promise.withResolvers<void>()
  #terminated = Promise.withResolvers<void>()

  constructor(options: TaskRunnerOptions) {
    const { agent, savedRecord } = options
    this.#options = options
    this.name = options.task.Name
    this.#assignment = options.assignment
    this.#task = options.task
    const changed = (): void => options.onChange()
    const about = { allocation: options.assignment.allocation.ID, task: this.name }
    this.#recorder = new TaskRecorder({
      clock: agent.clock,
      log: agent.log,
      logFields: about,
      savedRecord,
      onChange: changed,
    })
    this.#hookRunner = new TaskHookRunner(agent.taskHooks, this.#recorder)
    this.#scheduleGate = new ScheduleGate(agent.clock, this.#recorder, options.task.Schedule)
    this.#isAdmitted = this.record.attempt > 0
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
    return this.#isAdmitted
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
    this.#isAdmitted = true
    this.#admission.resolve()
  }

  /** Applies a job change that needs no new process, such as restart policy or kill settings. */
  update(assignment: Assignment, task: AgentTask): void {
    this.#assignment = assignment
    this.#task = task
    this.#hookRunner.update(assignment, task)
    this.#scheduleGate.update(task.Schedule)
    if (skipsShutdownDelay(assignment)) this.#shutdownDelaySkipped.resolve()
  }

  restart({ reason, usesRestartPolicy = false }: RestartRequest): Promise<void> {
    if (this.#findLiveTask() === undefined) return Promise.reject(notRunningFault(this.name))
    const pendingRestart = { reason, mode: usesRestartPolicy ? 'by-policy' : 'at-once' } as const
    // A check keeps failing while the task is being killed for it.
    if (!this.#pendingRestarts.isCovered(pendingRestart))
      this.#recorder.emitEvent('Restart Signaled', { RestartReason: reason })
    return this.#pendingRestarts.request(pendingRestart)
  }

  /**
   * Returns the task to its start gate, whatever its state, even if it is dead; the allocation
   * opens the gates in order again. Resolves when no process of the task is left.
   */
  restartFromGate(reason: string): Promise<void> {
    if (this.#killRequest !== undefined || this.#isShutDown)
      return Promise.reject(notRunningFault(this.name))
    // A task that waits at its gate has nothing to restart.
    if (this.state.State === 'pending' && !this.#isAdmitted) return Promise.resolve()
    this.#recorder.emitEvent('Restart Signaled', { RestartReason: reason })
    this.#isAdmitted = false
    this.#admission = Promise.withResolvers<void>()
    if (this.state.State !== 'dead')
      return this.#pendingRestarts.request({ reason, mode: 'from-gate' })
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
    const isLive =
      this.state.State === 'running' && this.#killRequest === undefined && !this.#isShutDown
    return isLive ? this.#running : undefined
  }

  kill(request: KillRequest): Promise<void> {
    if (this.#killRequest !== undefined || this.state.State === 'dead') return this.terminated
    this.#killRequest = request
    if (request.cause !== undefined)
      this.#recorder.emitEvent(request.cause.type, request.cause.fields)
    const KillTimeout = nsFromMs(killTimeoutMs(this.#task, this.#options.agent))
    this.#recorder.emitEvent('Killing', { KillTimeout, KillReason: request.reason })
    this.#interrupt()
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
    this.#isShutDown = true
    this.#shutdown.resolve()
    this.#interrupt()
  }

  #interrupt(): void {
    this.#interruption.abort()
    this.#interrupted.resolve()
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
    this.#pendingRestarts.resolve()
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
    if (this.#isShutDown) return DONE_STEP
    if (this.#killRequest !== undefined) return this.#markKilled('')
    if (this.#pendingRestarts.pending?.mode !== 'from-gate') return undefined
    this.#pendingRestarts.resolve()
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
    const context = newDriverContext(this.#recorder, this.#interruption.signal)
    const halted = this.#shutdown.promise
    const recovery = await recoverTask(this.#options.agent, { handle, context, shutdown: halted })
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
    if (interrupted === undefined || this.#killRequest !== undefined) return false
    this.#killRequest = interrupted
    this.#interrupt()
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
    await Promise.race([this.#options.agent.firstServerContact, this.#interrupted.promise])
    const interrupted = this.#stepAfterInterruption()
    if (interrupted !== undefined) return interrupted
    this.#recorder.patch({ handle: null })
    const isFailure = handle.bootId === this.#options.agent.bootId
    return isFailure ? this.#applyRestartPolicy({ kind: 'lost' }) : { at: 'prepare' }
  }

  async #waitForGate(): Promise<Step> {
    while (!this.#isAdmitted && !this.#interruption.signal.aborted) {
      // A task that restarts from its gate while it waits has a new gate.
      await Promise.race([
        this.#admission.promise,
        this.#pendingRestarts.requested,
        this.#interrupted.promise,
      ])
      if (this.#pendingRestarts.pending !== undefined) this.#pendingRestarts.resolve()
    }
    return this.#stepAfterInterruption() ?? { at: 'prepare' }
  }

  async #prepare(): Promise<Step> {
    await this.#scheduleGate.waitUntilOpen([
      this.#interrupted.promise,
      this.#pendingRestarts.requested,
    ])
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
      return (
        this.#stepAfterInterruption() ?? { at: 'watch', running: await this.#startDriver(launch) }
      )
    } catch (thrown) {
      // A step before the start that was interrupted by a kill has not failed.
      const interruption = this.record.handle === null ? this.#stepAfterInterruption() : undefined
      if (interruption !== undefined) return interruption
      const { type, fields } = startFailureEvent(thrown, this.record.handle !== null)
      this.#recorder.emitEvent(type, fields)
      this.#recorder.patch({ handle: null })
      const cause = { kind: 'not-started', recoverable: isRecoverable(thrown) } as const
      return this.#stepAfterInterruption() ?? this.#applyRestartPolicy(cause)
    }
  }

  #buildHookContext(): TaskHookContext {
    return buildHookContext(this.#options.agent, {
      assignment: this.#assignment,
      task: this.#task,
      control: this,
      signal: this.#interruption.signal,
    })
  }

  /**
   * Starts the task. The handle is durable before the driver is called, so a crash in between
   * starts nothing twice.
   */
  async #startDriver(launch: TaskLaunch): Promise<RunningTask> {
    const { agent } = this.#options
    const { attempt, restarts } = this.record
    this.#recorder.patch({
      attempt: attempt + 1,
      handle: launch.handle,
      restarts: startWindow(restarts, agent.clock.nowMs()),
    })
    const driver = getDriver(agent.drivers, launch.handle.driver)
    await this.#options.save()
    const context = newDriverContext(this.#recorder, this.#interruption.signal)
    this.#running = await agent.startSlots.run(() => driver.start(launch, context))
    this.#recorder.markStarted()
    await this.#hookRunner.afterStart(this.#running)
    return this.#running
  }

  #prewarmDriver(): void {
    this.#options.agent.drivers.get(this.#task.Driver)?.prewarm?.()
  }

  async #watch(running: RunningTask): Promise<Step> {
    const { exited } = running
    const scheduleClosed = { reason: 'end of its schedule', mode: 'by-schedule' } as const
    const unwatchSchedule = this.#scheduleGate.onClose(
      () => void this.#pendingRestarts.request(scheduleClosed),
    )
    const exit = await Promise.race([
      exited,
      this.#interrupted.promise,
      this.#pendingRestarts.requested,
    ])
    unwatchSchedule()
    if (this.#isShutDown) {
      // The next agent recovers the result from the driver.
      running.detach()
      return DONE_STEP
    }
    if (exit === undefined)
      return { at: this.#killRequest === undefined ? 'renew' : 'stop', running }
    return this.#recordExit(running, exit, () => {
      return this.#stepAfterRequestedExit() ?? this.#applyRestartPolicy({ kind: 'exited', exit })
    })
  }

  /** Next step after a requested kill or restart; undefined if the process exited by itself. */
  #stepAfterRequestedExit(): Step | undefined {
    if (this.#killRequest !== undefined) return this.#markKilled('')
    const { pending } = this.#pendingRestarts
    if (pending === undefined) return undefined
    if (pending.mode === 'by-policy') return this.#applyRestartPolicy({ kind: 'unhealthy' })
    if (pending.mode !== 'by-schedule')
      this.#recorder.emitEvent('Restarting', { RestartReason: pending.reason, StartDelay: 0 })
    this.#recorder.setState('pending')
    return pending.mode === 'from-gate' ? { at: 'gate' } : { at: 'delay', delayMs: 0 }
  }

  /**
   * Kills the process for a restart. If that fails, the process stays and the caller gets the
   * error.
   */
  async #restartProcess(running: RunningTask): Promise<Step> {
    await this.#hookRunner.beforeStop()
    const { exit, error } = await this.#killProcess(running)
    if (exit === undefined) {
      this.#pendingRestarts.reject(new Fault('task-unkillable', error))
      return { at: 'watch', running }
    }
    const next = await this.#recordExit(
      running,
      exit,
      () => this.#stepAfterRequestedExit() ?? DONE_STEP,
    )
    this.#pendingRestarts.resolve()
    return next
  }

  #killProcess(running: RunningTask): ReturnType<typeof killTask> {
    const [host, halted] = [this.#options.agent, this.#shutdown.promise]
    return killTask(running, {
      agent: host,
      shutdown: halted,
      task: this.#task,
      recorder: this.#recorder,
    })
  }

  async #stopForGood(running: RunningTask): Promise<Step> {
    await this.#hookRunner.beforeStop()
    await waitShutdownDelay(this.#recorder, {
      clock: this.#options.agent.clock,
      delayNs: this.#task.ShutdownDelay,
      isSkipped: this.#killRequest?.skipShutdownDelay === true,
      interruptions: [running.exited, this.#shutdown.promise, this.#shutdownDelaySkipped.promise],
    })
    if (this.#isShutDown) {
      running.detach()
      return DONE_STEP
    }
    const { exit, error } = await this.#killProcess(running)
    // The next agent continues a kill that this one could not complete.
    if (exit === undefined && this.#isShutDown) running.detach()
    if (exit === undefined) return this.#isShutDown ? DONE_STEP : this.#markKilled(error)
    return this.#recordExit(running, exit, () => this.#markKilled(''))
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
    await Promise.race([passed, this.#interrupted.promise, this.#pendingRestarts.requested])
    cancelDelay.abort()
    return this.#stepAfterInterruption() ?? { at: 'prepare' }
  }

  #markKilled(error: string): Step {
    this.#recorder.emitEvent('Killed', error === '' ? {} : { KillError: error })
    this.#recorder.setState('dead')
    return DONE_STEP
  }

  #logError(message: string, thrown: unknown): void {
    const fields = { allocation: this.#assignment.allocation.ID, task: this.name }
    this.#options.agent.log.error({ ...fields, error: errorMessage(thrown) }, message)
  }
}
