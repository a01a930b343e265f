import type { TaskEvent, TaskEventType, TaskState } from '@reeve/contract'
import { formatDurationNs, msFromNs, nsFromMs } from '../../kit/duration.ts'
import { assert, Fault, messageOf } from '../../kit/fault.ts'
import type { AgentTask, Assignment } from '../assignment.ts'
import {
  isRecoverable,
  type RunningTask,
  type TaskExit,
  type TaskHandle,
  type TaskLaunch,
} from '../driver.ts'
import type { AgentHost } from '../host.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { TaskRecord } from '../store/store.ts'
import { pause } from '../wait.ts'
import { endTask } from './end-task.ts'
import { handleFor, planLaunch } from './launch.ts'
import {
  decideRestart,
  FRESH_TRACKER,
  restartsOnSuccess,
  trackerAtStart,
  type EndCause,
} from './restart-policy.ts'
import { taskEvent, type TaskEventFields } from './task-event.ts'
import { freshTaskState, moved, withEvent } from './task-state.ts'

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

export interface KillRequest {
  /** What is said before `Killing`: that a sibling failed, that the leader ended. */
  readonly cause?: { readonly type: TaskEventType; readonly fields?: TaskEventFields }
  /** Why the servers want it; empty when they did not say. */
  readonly reason: string
  readonly skipShutdownDelay: boolean
}

/**
 * Where a task is on its way. The wire knows three states; the agent needs to know what it waits
 * for.
 */
type Step =
  | { readonly at: 'restore' }
  | { readonly at: 'gate' }
  | { readonly at: 'prepare' }
  | { readonly at: 'watch'; readonly running: RunningTask }
  | { readonly at: 'stop'; readonly running: RunningTask }
  | { readonly at: 'delay'; readonly delayMs: number }
  | { readonly at: 'end' }

const NEXT = {
  restore: ['gate', 'prepare', 'watch', 'delay', 'end'],
  gate: ['prepare', 'end'],
  prepare: ['watch', 'delay', 'end'],
  watch: ['stop', 'delay', 'end'],
  stop: ['end'],
  delay: ['prepare', 'end'],
  end: [],
} as const satisfies Record<Step['at'], readonly Step['at'][]>

/**
 * Runs one task of one allocation, from the wait for its turn to its last end. Reference scheduling
 * §25 is the order of steps and events. Everything it decides on is in its record, which is saved,
 * so that another runner can take over after a crash.
 */
export class TaskRunner {
  readonly name: string
  readonly #options: TaskRunnerOptions
  #assignment: Assignment
  #task: AgentTask
  #record: TaskRecord
  #isAdmitted: boolean
  #kill: KillRequest | undefined
  #isHalted = false
  readonly #admission = Promise.withResolvers<void>()
  readonly #interruption = new AbortController()
  readonly #interrupted = Promise.withResolvers<void>()
  readonly #halted = Promise.withResolvers<void>()
  readonly #ended = Promise.withResolvers<void>()

  constructor(options: TaskRunnerOptions) {
    this.#options = options
    this.name = options.task.Name
    this.#assignment = options.assignment
    this.#task = options.task
    this.#record = options.record ?? FRESH_RECORD
    this.#isAdmitted = this.#record.attempt > 0
    if (options.record === undefined) this.#note('Received')
  }

  get record(): TaskRecord {
    return this.#record
  }

  get state(): TaskState {
    return this.#record.state
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
    void this.#run()
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
  }

  /** Ends the task for good; resolves when it is dead. A second request changes nothing. */
  kill(request: KillRequest): Promise<void> {
    if (this.#kill !== undefined || this.#record.state.State === 'dead') return this.ended
    this.#kill = request
    if (request.cause !== undefined) this.#note(request.cause.type, request.cause.fields)
    const KillTimeout = nsFromMs(this.#killTimeoutMs())
    this.#note('Killing', { KillTimeout, KillReason: request.reason })
    this.#interrupt()
    return this.ended
  }

  /** Ends a task that was never started, because the allocation could not be set up. */
  fail(message: string): void {
    this.#note('Setup Failure', { SetupError: message, FailsTask: true })
    this.#move('dead')
    this.#ended.resolve()
  }

  /** Adds what its allocation has to say about it. */
  tell(type: TaskEventType, message: string): void {
    this.#note(type, { Message: message })
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

  async #run(): Promise<void> {
    let step: Step = { at: 'restore' }
    try {
      while (step.at !== 'end') {
        const next: Step = await this.#take(step)
        const allowed: readonly Step['at'][] = NEXT[step.at]
        assert(allowed.includes(next.at), `a task's step ${step.at} is not followed by ${next.at}`)
        step = next
      }
    } catch (thrown) {
      // A bug of ours must cost this task only, and must not look like success.
      this.#options.host.log.error(this.#fields({ error: messageOf(thrown) }), 'task runner failed')
      if (this.#record.state.State !== 'dead') this.fail(`agent failure: ${messageOf(thrown)}`)
    }
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
      case 'delay':
        return this.#delay(step.delayMs)
    }
  }

  /** Where to go on when the wait or the work was ended by a kill or by the agent's own stop. */
  #afterInterruption(): Step | undefined {
    if (this.#isHalted) return END
    return this.#kill === undefined ? undefined : this.#killed('')
  }

  async #restore(): Promise<Step> {
    const { handle, state } = this.#record
    if (state.State === 'dead') return END
    if (handle === null) return this.#resumeDelay() ?? { at: 'gate' }
    const driver = this.#options.host.drivers.get(handle.driver)
    if (driver === undefined) return this.#lost(handle, `the driver ${handle.driver} is gone`)
    const recovery = await driver.recover(handle).catch((thrown: unknown) => {
      return { kind: 'lost', reason: messageOf(thrown) } as const
    })
    switch (recovery.kind) {
      case 'attached':
        // The agent may have ended between the start and the event that tells of it.
        if (state.State !== 'running') this.#started()
        return { at: 'watch', running: recovery.task }
      case 'never-started':
        this.#change({ handle: null })
        return { at: 'gate' }
      case 'lost':
        return this.#lost(handle, recovery.reason)
    }
  }

  /** The agent ended between two runs: the rest of the delay is still to be waited. */
  #resumeDelay(): Step | undefined {
    const last = this.#record.state.Events.at(-1)
    if (last?.Type !== 'Restarting') return undefined
    const untilMs = msFromNs(last.Time) + msFromNs(last.StartDelay)
    return { at: 'delay', delayMs: Math.max(0, untilMs - this.#options.host.clock.nowMs()) }
  }

  /**
   * Reference scheduling §38: the task begins again only when a server still wants it. A machine
   * that was restarted is no failure of the task; anything else counts like one.
   */
  async #lost(handle: TaskHandle, reason: string): Promise<Step> {
    this.#note('Failed Restoring Task', { DriverError: reason })
    this.#move('pending')
    await Promise.race([this.#options.host.serverContact, this.#interrupted.promise])
    const interrupted = this.#afterInterruption()
    if (interrupted !== undefined) return interrupted
    this.#change({ handle: null })
    const isFailure = handle.bootId === this.#options.host.bootId
    return isFailure ? this.#settle({ kind: 'lost' }) : { at: 'prepare' }
  }

  async #waitForGate(): Promise<Step> {
    if (!this.#isAdmitted) await Promise.race([this.#admission.promise, this.#interrupted.promise])
    return this.#afterInterruption() ?? { at: 'prepare' }
  }

  async #prepare(): Promise<Step> {
    try {
      const launch = await this.#readyToLaunch()
      return this.#afterInterruption() ?? { at: 'watch', running: await this.#launch(launch) }
    } catch (thrown) {
      this.#noteFailedStart(thrown)
      this.#change({ handle: null })
      const interrupted = this.#afterInterruption()
      if (interrupted !== undefined) return interrupted
      return this.#settle({ kind: 'not-started', recoverable: isRecoverable(thrown) })
    }
  }

  #noteFailedStart(thrown: unknown): void {
    const message = messageOf(thrown)
    const kind = thrown instanceof Fault ? thrown.kind : ''
    if (kind === 'task-invalid') this.#note('Failed Validation', { ValidationError: message })
    else if (kind === 'agent-state') this.#note('Setup Failure', { SetupError: message })
    else if (this.#record.handle !== null || kind === 'task-unstartable') {
      this.#note('Driver Failure', { DriverError: message })
    } else this.#note('Task hook failed', { Message: message })
  }

  /** Resolves the references, runs the hooks. */
  async #readyToLaunch(): Promise<TaskLaunch> {
    const { host } = this.#options
    const task = this.#task
    const assignment = this.#assignment
    const handle = handleFor({
      driver: task.Driver,
      allocationId: assignment.allocation.ID,
      task: task.Name,
      attempt: this.#record.attempt + 1,
      recordsDir: host.recordsDir,
      bootId: host.bootId,
    })
    const { workspace } = host
    const launch = planLaunch({ assignment, task, node: host.node(), workspace, handle })
    const { signal } = this.#interruption
    const context = { assignment, task, user: launch.user, workspace, signal }
    for (const hook of host.taskHooks) {
      if (hook.once && this.#record.hooksDone.includes(hook.name)) continue
      if (hook.applies?.(context) === false) continue
      if (hook.announces !== undefined) this.#note('Task Setup', { Message: hook.announces })
      await hook.beforeStart(context)
      if (hook.once) this.#change({ hooksDone: [...this.#record.hooksDone, hook.name] })
    }
    return launch
  }

  /** The handle is durable before the driver is asked: a crash in between starts nothing twice. */
  async #launch(launch: TaskLaunch): Promise<RunningTask> {
    const { host } = this.#options
    const { attempt, restarts } = this.#record
    this.#change({
      attempt: attempt + 1,
      handle: launch.handle,
      restarts: trackerAtStart(restarts, host.clock.nowMs()),
    })
    const driver = host.drivers.get(launch.handle.driver)
    if (driver === undefined) {
      const name = JSON.stringify(launch.handle.driver)
      throw new Fault('task-unstartable', `this node has no driver ${name}`)
    }
    await this.#options.save()
    const running = await host.starts.run(() => driver.start(launch))
    this.#started()
    return running
  }

  #started(): void {
    this.#move('running')
    this.#note('Started')
  }

  async #watch(running: RunningTask): Promise<Step> {
    const exit = await Promise.race([running.exited, this.#interrupted.promise])
    if (this.#isHalted) {
      // Whatever happened, the next agent finds it with the driver.
      running.detach()
      return END
    }
    if (exit === undefined) return { at: 'stop', running }
    return this.#conclude(running, exit, () => {
      return this.#kill === undefined ? this.#settle({ kind: 'exited', exit }) : this.#killed('')
    })
  }

  async #stop(running: RunningTask): Promise<Step> {
    await this.#waitShutdownDelay(running)
    if (this.#isHalted) {
      running.detach()
      return END
    }
    const { exit, error } = await endTask(running, {
      clock: this.#options.host.clock,
      signal: this.#task.KillSignal,
      timeoutMs: this.#killTimeoutMs(),
    })
    if (exit === undefined) return this.#killed(error)
    return this.#conclude(running, exit, () => this.#killed(''))
  }

  /** Reference scheduling §28: time for callers to go elsewhere before the task is told. */
  async #waitShutdownDelay(running: RunningTask): Promise<void> {
    const delayNs = this.#task.ShutdownDelay
    if (delayNs <= 0) return
    const delay = formatDurationNs(delayNs)
    if (this.#kill?.skipShutdownDelay === true) {
      this.#note('Skipping shutdown delay', { Message: `Shutdown delay of ${delay} skipped` })
      return
    }
    this.#note('Waiting for shutdown delay', { Message: `Waiting ${delay} before the kill signal` })
    this.#move('pending')
    const enough = new AbortController()
    const waited = pause(this.#options.host.clock, msFromNs(delayNs), enough.signal)
    await Promise.race([waited, running.exited, this.#halted.promise])
    enough.abort()
  }

  /**
   * The exit and what follows from it are one change of the record, saved before the driver forgets
   * the exit: an agent that is killed anywhere in here comes to the same end when it starts again.
   */
  async #conclude(running: RunningTask, exit: TaskExit, decide: () => Step): Promise<Step> {
    const details: Record<string, string> = { oom_killed: String(exit.oomKilled) }
    if (exit.message !== '') details['exit_message'] = exit.message
    const fields = { ExitCode: exit.exitCode, Signal: exit.signal, Message: exit.message, details }
    this.#append(taskEvent('Terminated', exit.atMs, fields))
    this.#change({ handle: null })
    const next = decide()
    try {
      await this.#options.save()
      await running.forget()
    } catch (thrown) {
      // The driver keeps the exit, so an agent that starts again still finds it.
      this.#options.host.log.error(this.#fields({ error: messageOf(thrown) }), 'exit not saved')
    }
    return next
  }

  /** Reference scheduling §25, step 8. */
  #settle(cause: EndCause): Step {
    const { clock, random } = this.#options.host
    const { tracker, verdict } = decideRestart({
      policy: this.#task.RestartPolicy,
      tracker: this.#record.restarts,
      cause,
      onSuccess: restartsOnSuccess(this.#assignment.job.Type, this.#task.Lifecycle),
      nowMs: clock.nowMs(),
      draw: random.next(),
    })
    this.#change({ restarts: tracker })
    if (verdict.kind === 'restart') {
      const { reason, delayMs } = verdict
      this.#note('Restarting', { RestartReason: reason, StartDelay: nsFromMs(delayMs) })
      this.#move('pending')
      return { at: 'delay', delayMs }
    }
    if (verdict.kind === 'failed') {
      this.#note('Not Restarting', { RestartReason: verdict.reason, FailsTask: true })
    }
    this.#move('dead', cause.kind === 'exited' ? cause.exit.atMs : undefined)
    return END
  }

  async #delay(delayMs: number): Promise<Step> {
    await pause(this.#options.host.clock, delayMs, this.#interruption.signal)
    return this.#afterInterruption() ?? { at: 'prepare' }
  }

  #killed(error: string): Step {
    this.#note('Killed', error === '' ? {} : { KillError: error })
    this.#move('dead')
    return END
  }

  #killTimeoutMs(): number {
    return Math.min(msFromNs(this.#task.KillTimeout), AGENT_LIMITS.killTimeoutMsMax)
  }

  #note(type: TaskEventType, fields?: TaskEventFields): void {
    this.#append(taskEvent(type, this.#options.host.clock.nowMs(), fields))
  }

  #append(event: TaskEvent): void {
    this.#change({ state: withEvent(this.#record.state, event) })
  }

  #move(to: TaskState['State'], atMs = this.#options.host.clock.nowMs()): void {
    this.#change({ state: moved(this.#record.state, to, atMs) })
  }

  #change(part: Partial<TaskRecord>): void {
    this.#record = { ...this.#record, ...part }
    this.#options.changed()
  }

  #fields(more: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    return { allocation: this.#assignment.allocation.ID, task: this.name, ...more }
  }
}

const END = { at: 'end' } as const satisfies Step

const FRESH_RECORD: TaskRecord = {
  state: freshTaskState(),
  attempt: 0,
  handle: null,
  restarts: FRESH_TRACKER,
  hooksDone: [],
}
