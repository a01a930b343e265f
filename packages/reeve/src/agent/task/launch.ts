import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { TaskEventType, TaskState } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { AgentTask, Assignment } from '../assignment.ts'
import {
  isRecoverable,
  type DriverContext,
  type RunningTask,
  type TaskDriver,
  type TaskHandle,
  type TaskLaunch,
  type TaskLogFiles,
  type TaskPort,
  type TaskResources,
  DRIVER_UNAVAILABLE,
  type Recovery,
} from '../driver.ts'
import type { AgentContext } from '../agent-context.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { getOwn, type NodeInfo } from '../node-info.ts'
import { groupPortsOf, buildTaskNetwork } from '../network/allocation-network.ts'
import { errorCode } from '../store/state-file.ts'
import type { TaskPaths } from '../store/workspace.ts'
import { sleep } from '../timing.ts'
import { buildEnvironment, withVariables } from './environment.ts'
import { startWindow, type ExitCause } from './restart-policy.ts'
import type { TaskHookRunner, MergedLaunchAdditions, TaskHookContext } from './task-hook.ts'
import type { KillRequest, TaskControl } from './task-control.ts'
import type { TaskEventFields } from './task-event.ts'
import type { TaskRecorder } from './task-recorder.ts'

interface HookContextInput {
  readonly assignment: Assignment
  readonly task: AgentTask
  readonly control: TaskControl
  readonly signal: AbortSignal
}

/**
 * Builds the context of the task's hooks. Fault `task-invalid` if references cannot be resolved.
 */
export function buildHookContext(agent: AgentContext, input: HookContextInput): TaskHookContext {
  const { assignment, task } = input
  const { workspace, clock, random, log } = agent
  const node = agent.nodeInfo()
  const paths = workspace.paths({ allocationId: assignment.allocation.ID, task: task.Name })
  const driver = agent.drivers.get(task.Driver)
  const isolation = driver?.isolation ?? 'none'
  const network = agent.networks?.find(assignment.allocation.ID)
  const environment = buildEnvironment({
    assignment,
    task,
    node,
    hostPaths: paths,
    isolation,
    network,
  })
  const user = environment.interpolator.resolve(task.User, 'User')
  const effectiveUser = user === '' ? (driver?.defaultUser ?? '') : user
  const resolved = {
    user,
    runsAs: effectiveUser,
    workspace,
    paths,
    isolation,
    network,
    environment,
    node,
  }
  return { ...input, ...resolved, clock, random, log }
}

interface LaunchSource {
  /** Length of the job as JSON: a large job is prepared in several event loop iterations. */
  readonly jobJsonLength: number
  readonly attempt: number
  readonly hooks: Pick<TaskHookRunner, 'beforeStart'>
  readonly recorder: TaskRecorder
  buildContext(): TaskHookContext
}

/** Runs the hooks, resolves references, and lets the driver fetch what it needs. */
export async function prepareLaunch(
  agent: AgentContext,
  source: LaunchSource,
): Promise<TaskLaunch> {
  await agent.loopBudget.acquire(source.jobJsonLength)
  const context = source.buildContext()
  const additions = await source.hooks.beforeStart(context)
  await agent.loopBudget.acquire(source.jobJsonLength)
  const handle = newHandle({
    driver: context.task.Driver,
    allocationId: context.assignment.allocation.ID,
    task: context.task.Name,
    attempt: source.attempt,
    recordsDir: agent.recordsDir,
    bootId: agent.bootId,
  })
  const launch = buildLaunch({
    context,
    additions,
    handle,
    sharedCores: agent.coreReservations?.sharedCores ?? [],
  })
  return fetchDependencies(agent.drivers, launch, newDriverContext(source.recorder, context.signal))
}

interface BuildLaunchInput {
  readonly context: TaskHookContext
  readonly additions: MergedLaunchAdditions
  readonly handle: TaskHandle
  /** Cores for tasks without reserved cores; empty means any. */
  readonly sharedCores: readonly number[]
}

/** Builds the launch with all references resolved. */
function buildLaunch(input: BuildLaunchInput): TaskLaunch {
  const { context, additions, handle, sharedCores } = input
  const { assignment, task, node, paths, user } = context
  const { env, interpolator } = withVariables(context.environment, additions.env)
  const config = Object.entries(task.Config ?? {}).map(
    ([key, value]) => [key, interpolator.resolveDeep(value, key)] as const,
  )
  const { allocation, job, group } = assignment
  return {
    handle,
    identity: {
      namespace: allocation.Namespace,
      jobId: job.ID,
      jobName: job.Name,
      group: group.Name,
      nodeId: node.ID,
      nodeName: node.Name,
    },
    config: Object.fromEntries(config),
    env,
    user,
    taskDir: paths.taskDir,
    allocDir: paths.allocDir,
    localDir: paths.localDir,
    secretsDir: paths.secretsDir,
    resources: { ...assignedResources(assignment, task, node), sharedCores },
    logs: task.LogConfig.Disabled ? undefined : taskLogFiles(paths, task),
    mounts: additions.mounts,
    network: {
      ...buildTaskNetwork(assignment, context.network, interpolator),
      ports: taskPorts(assignment, task),
    },
  }
}

/**
 * Lets the driver fetch what the start needs; its reports become events of the task. Does not count
 * as a start: an image may take minutes, and starts of other tasks must not wait.
 */
async function fetchDependencies(
  drivers: AgentContext['drivers'],
  launch: TaskLaunch,
  context: DriverContext,
): Promise<TaskLaunch> {
  if (!context.signal.aborted) await drivers.get(launch.handle.driver)?.prepare?.(launch, context)
  return launch
}

/** Resources assigned by the scheduler, otherwise those that the task requests. */
function assignedResources(assignment: Assignment, task: AgentTask, node: NodeInfo): TaskResources {
  const assigned = getOwn(assignment.allocation.AllocatedResources.Tasks, task.Name)
  const cpuMHz = assigned?.Cpu.CpuShares ?? task.Resources.CPU
  const totalMHz = Number(getOwn(node.Attributes, 'cpu.totalcompute') ?? 0)
  return {
    cpuMHz,
    cpuFraction: totalMHz > 0 ? Math.min(1, cpuMHz / totalMHz) : 1,
    cores: assigned?.Cpu.ReservedCores ?? [],
    memoryMB: assigned?.Memory.MemoryMB ?? task.Resources.MemoryMB,
    memoryMaxMB: assigned?.Memory.MemoryMaxMB ?? task.Resources.MemoryMaxMB,
  }
}

const BYTES_PER_MB = 1024 * 1024

function taskLogFiles({ allocDir }: TaskPaths, task: AgentTask): TaskLogFiles {
  const prefix = join(allocDir, 'logs', task.Name)
  return {
    stdoutPrefix: `${prefix}.stdout`,
    stderrPrefix: `${prefix}.stderr`,
    maxFiles: task.LogConfig.MaxFiles,
    maxFileBytes: task.LogConfig.MaxFileSizeMB * BYTES_PER_MB,
  }
}

/** Ports of the group, and in the legacy form those of the task itself. */
function taskPorts(assignment: Assignment, task: AgentTask): readonly TaskPort[] {
  const { Tasks } = assignment.allocation.AllocatedResources
  const taskOwnPorts = (getOwn(Tasks, task.Name)?.Networks ?? []).flatMap((network) => {
    const ports = [...(network.ReservedPorts ?? []), ...(network.DynamicPorts ?? [])]
    return ports.map(({ Label, Value, To }) => {
      return { label: Label, hostIp: network.IP, hostPort: Value, to: To }
    })
  })
  return [...groupPortsOf(assignment), ...taskOwnPorts]
}

interface HandleInput {
  readonly driver: string
  readonly allocationId: string
  readonly task: string
  readonly attempt: number
  /** Directory in which the drivers keep their records. */
  readonly recordsDir: string
  readonly bootId: string
}

/** Creates a handle. The attempt number separates its records from those of earlier starts. */
function newHandle(input: HandleInput): TaskHandle {
  const { driver, allocationId, task, attempt, bootId } = input
  const hash = createHash('sha256').update(task).digest('hex').slice(0, 12)
  const id = `${allocationId}-${hash}-${attempt}`
  return { driver, id, allocationId, task, dir: join(input.recordsDir, id), bootId }
}

interface StartOptions {
  readonly recorder: TaskRecorder
  /** Aborted when the task is killed or the agent stops. */
  readonly signal: AbortSignal
  /** Resolves when the current record is durable. */
  save(): Promise<void>
}

/**
 * Starts the task. The handle is durable before the driver is called, so a crash in between starts
 * nothing twice.
 */
export async function startLaunch(
  { clock, drivers, startSlots }: Pick<AgentContext, 'clock' | 'drivers' | 'startSlots'>,
  launch: TaskLaunch,
  options: StartOptions,
): Promise<RunningTask> {
  const { recorder, signal } = options
  const { attempt, restarts } = recorder.record
  recorder.patch({
    attempt: attempt + 1,
    handle: launch.handle,
    restarts: startWindow(restarts, clock.nowMs()),
  })
  const driver = getDriver(drivers, launch.handle.driver)
  await options.save()
  const context = newDriverContext(recorder, signal)
  return startSlots.run(() => driver.start(launch, context))
}

function getDriver(drivers: ReadonlyMap<string, TaskDriver>, name: string): TaskDriver {
  const driver = drivers.get(name)
  if (driver !== undefined) return driver
  throw new Fault('task-unstartable', `this node has no driver ${JSON.stringify(name)}`)
}

/** Adds the event of a failed start, and returns the cause for the restart policy. */
export function recordStartFailure(recorder: TaskRecorder, thrown: unknown): ExitCause {
  const { type, fields } = startFailureEvent(thrown, recorder.record.handle !== null)
  recorder.emitEvent(type, fields)
  recorder.patch({ handle: null })
  return { kind: 'not-started', recoverable: isRecoverable(thrown) }
}

interface StartFailureEvent {
  readonly type: TaskEventType
  readonly fields: TaskEventFields
}

/** Event for a task that could not be started. `wasDriverCalled`: the driver had been called. */
function startFailureEvent(thrown: unknown, wasDriverCalled: boolean): StartFailureEvent {
  const message = errorMessage(thrown)
  const kind = thrown instanceof Fault ? thrown.kind : ''
  switch (kind) {
    // The driver validates its configuration before it starts anything.
    case 'task-config':
    case 'task-invalid':
      return { type: 'Failed Validation', fields: { ValidationError: message } }
    case 'agent-state':
      return { type: 'Setup Failure', fields: { SetupError: message } }
    case 'task-artifact':
      return { type: 'Failed Artifact Download', fields: { DownloadError: message } }
    case 'task-unstartable':
    case 'task-start':
      return { type: 'Driver Failure', fields: { DriverError: message } }
    default:
      return wasDriverCalled
        ? { type: 'Driver Failure', fields: { DriverError: message } }
        : { type: 'Task hook failed', fields: { Message: message } }
  }
}

/** Context for a driver; its reports become events of the task. */
export function newDriverContext(recorder: TaskRecorder, signal: AbortSignal): DriverContext {
  return { signal, report: (message) => recorder.emitEvent('Driver', { DriverMessage: message }) }
}

interface RecoverOptions {
  readonly handle: TaskHandle
  readonly context: DriverContext
  /** Resolves when the agent stops. */
  readonly shutdown: Promise<void>
}

/**
 * Recovers a started task from the driver. If the driver is unavailable, the task is not lost: the
 * call is retried with increasing delays. Undefined if the agent stops meanwhile.
 */
export async function recoverTask(
  { drivers, clock }: Pick<AgentContext, 'drivers' | 'clock'>,
  { handle, context, shutdown }: RecoverOptions,
): Promise<Recovery | undefined> {
  const driver = drivers.get(handle.driver)
  if (driver === undefined) {
    return { kind: 'lost', reason: `the driver ${handle.driver} is gone` }
  }
  const shutdownSignal = new AbortController()
  void shutdown.then(() => shutdownSignal.abort())
  for (let delayMs: number = AGENT_LIMITS.recoverRetryInitialDelayMs, attempt = 1; ; attempt += 1) {
    try {
      const recovery = await driver.recover(handle, context)
      if (attempt > 1) context.report(`The driver ${driver.name} answers again`)
      return recovery
    } catch (thrown) {
      if (!isTransient(thrown)) return { kind: 'lost', reason: errorMessage(thrown) }
      if (attempt === 1) context.report(recoveryRetryMessage(driver.name, thrown))
    }
    if (!(await sleep(clock, delayMs, shutdownSignal.signal))) return undefined
    delayMs = Math.min(2 * delayMs, AGENT_LIMITS.recoverRetryMaxDelayMs)
  }
}

/**
 * Whether the driver is temporarily unavailable, or the error is a system error such as too many
 * open files.
 */
function isTransient(thrown: unknown): boolean {
  if (thrown instanceof Fault) return thrown.kind === DRIVER_UNAVAILABLE
  return errorCode(thrown) !== undefined
}

function recoveryRetryMessage(driver: string, thrown: unknown): string {
  return (
    `The agent restarted and cannot reach the task: ${errorMessage(thrown)}. The task is kept, and ` +
    `the agent re-attaches to it when the driver ${driver} answers.`
  )
}

/** Remaining restart delay if the agent stopped between two runs; undefined if there was none. */
export function remainingRestartDelayMs({ Events }: TaskState, nowMs: number): number | undefined {
  const lastEvent = Events.at(-1)
  if (lastEvent?.Type !== 'Restarting') return undefined
  const delayMs = msFromNs(lastEvent.StartDelay)
  // The clock may have been set back.
  return Math.min(delayMs, Math.max(0, msFromNs(lastEvent.Time) + delayMs - nowMs))
}

/** Kill that was in progress when the agent stopped; undefined if there was none. */
export function interruptedKill(
  { Events }: TaskState,
  skipShutdownDelay: boolean,
): KillRequest | undefined {
  const boundary = Events.findLast(({ Type }) => KILL_BOUNDARY_EVENTS.includes(Type))
  return boundary?.Type === 'Killing'
    ? { reason: boundary.KillReason, skipShutdownDelay }
    : undefined
}

/** The last of these events tells whether a kill was in progress when the agent stopped. */
const KILL_BOUNDARY_EVENTS: readonly string[] = ['Killing', 'Killed', 'Restarting']
