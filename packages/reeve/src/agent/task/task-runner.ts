import type { PauseState, TaskEventType, TaskState } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { jobChars, type AgentTask, type Assignment } from '../assignment.ts'
import {
  isRecoverable,
  type RunningTask,
  type TaskExit,
  type TaskHandle,
  type TaskLaunch,
} from '../driver.ts'
import type { AgentHost } from '../host.ts'
import { getSignal } from '../signals.ts'
import type { TaskRecord } from '../store/store.ts'
import type { ExecRequest, ExecSession, TaskUsage } from '../task-session.ts'
import { pause } from '../wait.ts'
import { driverContext, getDriver } from './driver-context.ts'
import { endTask, killTimeoutMs, terminatedEvent } from './end-task.ts'
import { failedStart } from './failed-start.ts'
import { HookChain } from './hook-chain.ts'
import { prepareContext, readyToLaunch } from './launch.ts'
import { notRunning } from './not-running.ts'
import { begunKill, recoverTask, restOfDelayMs } from './recover-task.ts'
import { RestartCall } from './restart-call.ts'
import { trackerAtStart, type EndCause } from './restart-policy.ts'
import { settle } from './settle.ts'
import { skipsDelays, waitShutdownDelay } from './shutdown-delay.ts'
import { ScheduleGate } from './schedule-gate.ts'
import type { KillRequest, RestartRequest, TaskControl } from './task-control.ts'
import type { TaskEventFields } from './task-event.ts'
import type { TaskHookContext } from './task-hook.ts'
import { TaskLedger } from './task-ledger.ts'
import { checkStep, END, type Step } from './task-step.ts'

interface TaskRunnerOptions {
  readonly host: AgentHost
  readonly assignment: Assignment
  readonly task: AgentTask
  /** What was saved by an agent before this one. */
  readonly record: TaskRecord | undefined
  /** Called after every change of the record. */
  changed(): void
  /** Resolves when the record as it is now is durable. */
  save(): Promise<void>
}

/**
 * Runs one task of one allocation, from the wait for its turn to its last end. Everything that it
 * decides on is in its record, which is saved, so that another runner can take over after a crash.
 */
export class TaskRunner implements TaskControl {
  readonly name: string
  readonly #options: TaskRunnerOptions
  readonly #ledger: TaskLedger
  readonly #hooks: HookChain
  readonly #restarts = new RestartCall()
  #assignment: Assignment
  #task: AgentTask
  #isAdmitted: boolean
  readonly #schedule: ScheduleGate
  #running: RunningTask | undefined
  #kill: KillRequest | undefined
  #isHalted = false
  #admission = Promise.withResolvers<void>()
  readonly #interruption = new AbortController()
  readonly #interrupted = Promise.withResolvers<void>()
  readonly #halted = Promise.withResolvers<void>()
  readonly #delaySkipped = Promise.withResolvers<void>()
  #ended = Promise.withResolvers<void>()

  constructor(options: TaskRunnerOptions) {
    const { host, record } = options
    this.#options = options
    this.name = options.task.Name
    this.#assignment = options.assignment
    this.#task = options.task
    const changed = (): void => options.changed()
    const about = { allocation: options.assignment.allocation.ID, task: this.name }
    this.#ledger = new TaskLedger({ clock: host.clock, log: host.log, about, record, changed })
    this.#hooks = new HookChain(host.taskHooks, this.#ledger)
    this.#schedule = new ScheduleGate(host.clock, this.#ledger, options.task.Schedule)
    this.#isAdmitted = this.record.attempt > 0
    // What is saved and set up before the start takes as long as the driver needs to get ready.
    if (record === undefined) this.#expectStart()
  }

  get record(): TaskRecord {
    return this.#ledger.record
  }

  get state(): TaskState {
    return this.#ledger.state
  }

  /** Whether it was let through its gate. */
  get isAdmitted(): boolean {
    return this.#isAdmitted
  }

  /** Settles when the task is dead or the runner was halted. Never rejects. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  start(): void {
    void this.#run({ at: 'restore' })
  }

  /** Opens the gate of its stage. */
  admit(): void {
    this.#isAdmitted = true
    this.#admission.resolve()
  }

  /** The job changed in a way that needs no new process: restart policy, kill settings. */
  update(assignment: Assignment, task: AgentTask): void {
    this.#assignment = assignment
    this.#task = task
    this.#hooks.update(assignment, task)
    this.#schedule.update(task.Schedule)
    if (skipsDelays(assignment)) this.#delaySkipped.resolve()
  }

  restart({ reason, withDelay = false }: RestartRequest): Promise<void> {
    if (this.#findRunning() === undefined) return Promise.reject(notRunning(this.name))
    const wish = { reason, manner: withDelay ? 'by-policy' : 'at-once' } as const
    // A check goes on failing while the task is being ended for it.
    if (!this.#restarts.has(wish)) this.#ledger.note('Restart Signaled', { RestartReason: reason })
    return this.#restarts.make(wish)
  }

  /**
   * Takes the task back to its gate, whatever it does now, also when it is dead; the allocation
   * opens the gates in their order again. Resolves when no process of it is left.
   */
  startOver(reason: string): Promise<void> {
    if (this.#kill !== undefined || this.#isHalted) return Promise.reject(notRunning(this.name))
    // What waits at its gate has nothing to begin again.
    if (this.state.State === 'pending' && !this.#isAdmitted) return Promise.resolve()
    this.#ledger.note('Restart Signaled', { RestartReason: reason })
    this.#isAdmitted = false
    this.#admission = Promise.withResolvers<void>()
    if (this.state.State !== 'dead') return this.#restarts.make({ reason, manner: 'from-gate' })
    this.#ledger.revive(reason)
    this.#ended = Promise.withResolvers<void>()
    void this.#run({ at: 'gate' })
    return Promise.resolve()
  }

  async overrideSchedule(wanted: PauseState): Promise<void> {
    this.#schedule.override(wanted)
    await this.#options.save()
  }

  async signal(name: string, reason = ''): Promise<void> {
    const running = this.#findRunning()
    if (running === undefined) throw notRunning(this.name)
    const signal = getSignal(name)
    // Said first: the signal may be the end of the task.
    this.#ledger.note('Signaling', { TaskSignal: signal.name, TaskSignalReason: reason })
    await running.signal(signal.name)
  }

  async exec(request: ExecRequest): Promise<ExecSession> {
    const running = this.#findRunning()
    if (running === undefined) throw notRunning(this.name)
    return running.exec(request)
  }

  async usage(): Promise<TaskUsage | undefined> {
    return this.#findRunning()?.usage()
  }

  #findRunning(): RunningTask | undefined {
    const isLive = this.state.State === 'running' && this.#kill === undefined && !this.#isHalted
    return isLive ? this.#running : undefined
  }

  kill(request: KillRequest): Promise<void> {
    if (this.#kill !== undefined || this.state.State === 'dead') return this.ended
    this.#kill = request
    if (request.cause !== undefined) this.#ledger.note(request.cause.type, request.cause.fields)
    const KillTimeout = nsFromMs(killTimeoutMs(this.#task, this.#options.host))
    this.#ledger.note('Killing', { KillTimeout, KillReason: request.reason })
    this.#interrupt()
    return this.ended
  }

  /** Ends a task that was never started: the allocation could not be set up. */
  fail(message: string): void {
    this.#ledger.note('Setup Failure', { SetupError: message, FailsTask: true })
    this.#ledger.move('dead')
    this.#ended.resolve()
  }

  tell(type: TaskEventType, message: string, fields: TaskEventFields = {}): void {
    this.#ledger.note(type, { ...fields, Message: message })
  }

  /** The agent goes, the task stays. */
  halt(): void {
    this.#isHalted = true
    this.#halted.resolve()
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
        const next: Step = await this.#take(step)
        checkStep(step.at, next.at)
        step = next
      }
    } catch (thrown) {
      // A bug of ours must cost this task only, and must not look like success.
      this.#complain('task runner failed', thrown)
      if (this.state.State !== 'dead') this.fail(`agent failure: ${errorMessage(thrown)}`)
    }
    this.#hooks.close()
    this.#restarts.fulfil()
    this.#ended.resolve()
  }

  #take(step: Exclude<Step, { at: 'end' }>): Promise<Step> {
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
        return this.#stop(step.running)
      case 'renew':
        return this.#renew(step.running)
      case 'delay':
        return this.#delay(step.delayMs)
    }
  }

  /** Where to go on when the wait or the work was ended by a kill or by the agent's own stop. */
  #afterInterruption(): Step | undefined {
    if (this.#isHalted) return END
    if (this.#kill !== undefined) return this.#killed('')
    if (this.#restarts.pending?.manner !== 'from-gate') return undefined
    this.#restarts.fulfil()
    return { at: 'gate' }
  }

  async #restore(): Promise<Step> {
    const { handle, state } = this.record
    if (state.State === 'dead') return END
    if (handle === null) {
      const delayMs = restOfDelayMs(state, this.#options.host.clock.nowMs())
      return delayMs === undefined ? { at: 'gate' } : { at: 'delay', delayMs }
    }
    const isEnding = this.#resumeKill()
    const context = driverContext(this.#ledger, this.#interruption.signal)
    const halted = this.#halted.promise
    const recovery = await recoverTask(this.#options.host, { handle, context, halted })
    switch (recovery?.kind) {
      case undefined:
        return END
      case 'attached':
        this.#running = recovery.task
        // The agent may have ended between the start and the event that tells of it.
        if (state.State !== 'running' && !isEnding) this.#ledger.started()
        this.#resumeHooks()
        if (!isEnding) await this.#hooks.afterStart(recovery.task)
        return { at: 'watch', running: recovery.task }
      case 'never-started':
        this.#ledger.change({ handle: null })
        return { at: 'gate' }
      case 'lost':
        return this.#lost(handle, recovery.reason)
    }
  }

  /** An end that an agent before this one had begun goes on, whoever wanted it; true if so. */
  #resumeKill(): boolean {
    const begun = begunKill(this.state, skipsDelays(this.#assignment))
    if (begun === undefined || this.#kill !== undefined) return false
    this.#kill = begun
    this.#interrupt()
    return true
  }

  /** A task that runs goes on, whatever its texts resolve to today. */
  #resumeHooks(): void {
    try {
      this.#hooks.resume(this.#context())
    } catch (thrown) {
      this.#complain('hooks of a running task not resumed', thrown)
    }
  }

  /**
   * The task begins again only when a server still wants it. A machine that was restarted is no
   * failure of the task; anything else counts like one.
   */
  async #lost(handle: TaskHandle, reason: string): Promise<Step> {
    this.#ledger.note('Failed Restoring Task', { DriverError: reason })
    this.#ledger.move('pending')
    await Promise.race([this.#options.host.serverContact, this.#interrupted.promise])
    const interrupted = this.#afterInterruption()
    if (interrupted !== undefined) return interrupted
    this.#ledger.change({ handle: null })
    const isFailure = handle.bootId === this.#options.host.bootId
    return isFailure ? this.#settle({ kind: 'lost' }) : { at: 'prepare' }
  }

  async #waitForGate(): Promise<Step> {
    while (!this.#isAdmitted && !this.#interruption.signal.aborted) {
      // A task that starts over while it waits has got another gate to wait at.
      await Promise.race([this.#admission.promise, this.#restarts.made, this.#interrupted.promise])
      if (this.#restarts.pending !== undefined) this.#restarts.fulfil()
    }
    return this.#afterInterruption() ?? { at: 'prepare' }
  }

  async #prepare(): Promise<Step> {
    await this.#schedule.opened([this.#interrupted.promise, this.#restarts.made])
    const interrupted = this.#afterInterruption()
    if (interrupted !== undefined) return interrupted
    try {
      this.#expectStart()
      const launch = await readyToLaunch(this.#options.host, {
        chars: jobChars(this.#assignment.job),
        attempt: this.record.attempt + 1,
        hooks: this.#hooks,
        ledger: this.#ledger,
        context: () => this.#context(),
      })
      return this.#afterInterruption() ?? { at: 'watch', running: await this.#launch(launch) }
    } catch (thrown) {
      // A step before the start that a kill cut short has not failed.
      const cutShort = this.record.handle === null ? this.#afterInterruption() : undefined
      if (cutShort !== undefined) return cutShort
      const { type, fields } = failedStart(thrown, this.record.handle !== null)
      this.#ledger.note(type, fields)
      this.#ledger.change({ handle: null })
      const failed = { kind: 'not-started', recoverable: isRecoverable(thrown) } as const
      return this.#afterInterruption() ?? this.#settle(failed)
    }
  }

  #context(): TaskHookContext {
    return prepareContext(this.#options.host, {
      assignment: this.#assignment,
      task: this.#task,
      control: this,
      signal: this.#interruption.signal,
    })
  }

  /** The handle is durable before the driver is asked: a crash in between starts nothing twice. */
  async #launch(launch: TaskLaunch): Promise<RunningTask> {
    const { host } = this.#options
    const { attempt, restarts } = this.record
    this.#ledger.change({
      attempt: attempt + 1,
      handle: launch.handle,
      restarts: trackerAtStart(restarts, host.clock.nowMs()),
    })
    const driver = getDriver(host.drivers, launch.handle.driver)
    await this.#options.save()
    const context = driverContext(this.#ledger, this.#interruption.signal)
    this.#running = await host.starts.run(() => driver.start(launch, context))
    this.#ledger.started()
    await this.#hooks.afterStart(this.#running)
    return this.#running
  }

  #expectStart(): void {
    this.#options.host.drivers.get(this.#task.Driver)?.expectStart?.()
  }

  async #watch(running: RunningTask): Promise<Step> {
    const { exited } = running
    const stop = { reason: 'end of its schedule', manner: 'by-schedule' } as const
    const endWatch = this.#schedule.onClose(() => void this.#restarts.make(stop))
    const exit = await Promise.race([exited, this.#interrupted.promise, this.#restarts.made])
    endWatch()
    if (this.#isHalted) {
      // Whatever happened, the next agent finds it with the driver.
      running.detach()
      return END
    }
    if (exit === undefined) return { at: this.#kill === undefined ? 'renew' : 'stop', running }
    return this.#conclude(running, exit, () => {
      return this.#afterRequest() ?? this.#settle({ kind: 'exited', exit })
    })
  }

  /** What follows an end when somebody asked for it; undefined when it came by itself. */
  #afterRequest(): Step | undefined {
    if (this.#kill !== undefined) return this.#killed('')
    const { pending } = this.#restarts
    if (pending === undefined) return undefined
    if (pending.manner === 'by-policy') return this.#settle({ kind: 'unhealthy' })
    if (pending.manner !== 'by-schedule')
      this.#ledger.note('Restarting', { RestartReason: pending.reason, StartDelay: 0 })
    this.#ledger.move('pending')
    return pending.manner === 'from-gate' ? { at: 'gate' } : { at: 'delay', delayMs: 0 }
  }

  /** A process that cannot be ended stays, and who asked is told. */
  async #renew(running: RunningTask): Promise<Step> {
    await this.#hooks.beforeStop()
    const { exit, error } = await this.#end(running)
    if (exit === undefined) {
      this.#restarts.fail(new Fault('task-unkillable', error))
      return { at: 'watch', running }
    }
    const next = await this.#conclude(running, exit, () => this.#afterRequest() ?? END)
    this.#restarts.fulfil()
    return next
  }

  #end(running: RunningTask): ReturnType<typeof endTask> {
    const [host, halted] = [this.#options.host, this.#halted.promise]
    return endTask(running, { host, halted, task: this.#task, ledger: this.#ledger })
  }

  async #stop(running: RunningTask): Promise<Step> {
    await this.#hooks.beforeStop()
    await waitShutdownDelay(this.#ledger, {
      clock: this.#options.host.clock,
      delayNs: this.#task.ShutdownDelay,
      isSkipped: this.#kill?.skipShutdownDelay === true,
      cutShort: [running.exited, this.#halted.promise, this.#delaySkipped.promise],
    })
    if (this.#isHalted) {
      running.detach()
      return END
    }
    const { exit, error } = await this.#end(running)
    // The next agent goes on with an end that this one could not bring about.
    if (exit === undefined && this.#isHalted) running.detach()
    if (exit === undefined) return this.#isHalted ? END : this.#killed(error)
    return this.#conclude(running, exit, () => this.#killed(''))
  }

  /**
   * The exit and what follows from it are one change of the record, saved before the driver forgets
   * the exit: an agent that is killed anywhere in here comes to the same end when it starts again.
   */
  async #conclude(running: RunningTask, exit: TaskExit, decide: () => Step): Promise<Step> {
    await this.#hooks.atExit()
    this.#ledger.append(terminatedEvent(exit))
    this.#ledger.change({ handle: null })
    const next = decide()
    try {
      await this.#options.save()
      await running.forget()
    } catch (thrown) {
      // The driver keeps the exit, so an agent that starts again still finds it.
      this.#complain('exit not saved', thrown)
    }
    this.#running = undefined
    await this.#hooks.afterExit()
    return next
  }

  #settle(cause: EndCause): Step {
    const { host } = this.#options
    return settle(this.#ledger, { host, assignment: this.#assignment, task: this.#task, cause })
  }

  async #delay(delayMs: number): Promise<Step> {
    const over = new AbortController()
    const passed = pause(this.#options.host.clock, delayMs, over.signal)
    await Promise.race([passed, this.#interrupted.promise, this.#restarts.made])
    over.abort()
    return this.#afterInterruption() ?? { at: 'prepare' }
  }

  #killed(error: string): Step {
    this.#ledger.note('Killed', error === '' ? {} : { KillError: error })
    this.#ledger.move('dead')
    return END
  }

  #complain(what: string, thrown: unknown): void {
    const fields = { allocation: this.#assignment.allocation.ID, task: this.name }
    this.#options.host.log.error({ ...fields, error: errorMessage(thrown) }, what)
  }
}
