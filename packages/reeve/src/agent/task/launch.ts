import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { AgentTask, Assignment } from '../assignment.ts'
import type { DriverContext } from '../driver.ts'
import type { AgentHost } from '../host.ts'
import type { NodeFacts } from '../node-facts.ts'
import { groupPorts, taskNetwork } from '../network/allocation-network.ts'
import { ownValue } from '../own-value.ts'
import type { TaskPaths } from '../store/workspace.ts'
import type { LogFiles, TaskHandle, TaskLaunch, TaskPort, TaskResources } from '../task-launch.ts'
import { driverContext } from './driver-context.ts'
import { buildEnvironment, withVariables } from './environment.ts'
import type { HookChain, LaunchAdditions } from './hook-chain.ts'
import type { TaskControl } from './task-control.ts'
import type { TaskHookContext } from './task-hook.ts'
import type { TaskLedger } from './task-ledger.ts'

interface ContextInput {
  readonly assignment: Assignment
  readonly task: AgentTask
  readonly control: TaskControl
  readonly signal: AbortSignal
}

/** What the hooks of a task work with. Fault `task-invalid` when its texts cannot be resolved. */
export function prepareContext(host: AgentHost, input: ContextInput): TaskHookContext {
  const { assignment, task } = input
  const { workspace, clock, random, log } = host
  const node = host.node()
  const paths = workspace.paths({ allocationId: assignment.allocation.ID, task: task.Name })
  const driver = host.drivers.get(task.Driver)
  const isolation = driver?.isolation ?? 'none'
  const network = host.networks?.find(assignment.allocation.ID)
  const environment = buildEnvironment({ assignment, task, node, paths, isolation, network })
  const user = environment.interpolator.text(task.User, 'User')
  const runsAs = user === '' ? (driver?.defaultUser ?? '') : user
  const own = { user, runsAs, workspace, paths, isolation, network, environment, node }
  return { ...input, ...own, clock, random, log }
}

interface LaunchSteps {
  /** Of the job: a large one is prepared in several turns of the event loop. */
  readonly chars: number
  readonly attempt: number
  readonly hooks: Pick<HookChain, 'beforeStart'>
  readonly ledger: TaskLedger
  context(): TaskHookContext
}

/** Runs the hooks, resolves the references, lets the driver fetch what it needs. */
export async function readyToLaunch(host: AgentHost, steps: LaunchSteps): Promise<TaskLaunch> {
  await host.turns.next(steps.chars)
  const context = steps.context()
  const additions = await steps.hooks.beforeStart(context)
  await host.turns.next(steps.chars)
  const handle = handleFor({
    driver: context.task.Driver,
    allocationId: context.assignment.allocation.ID,
    task: context.task.Name,
    attempt: steps.attempt,
    recordsDir: host.recordsDir,
    bootId: host.bootId,
  })
  const launch = planLaunch({ context, additions, handle, sharedCores: host.cores?.shared ?? [] })
  return fetchFor(host.drivers, launch, driverContext(steps.ledger, context.signal))
}

interface LaunchInput {
  readonly context: TaskHookContext
  readonly additions: LaunchAdditions
  readonly handle: TaskHandle
  /** Cores for tasks that have none of their own; empty: any. */
  readonly sharedCores: readonly number[]
}

/** What the driver is asked, with every reference resolved. */
function planLaunch(input: LaunchInput): TaskLaunch {
  const { context, additions, handle, sharedCores } = input
  const { assignment, task, node, paths, user } = context
  const { env, interpolator } = withVariables(context.environment, additions.env)
  const config = Object.entries(task.Config ?? {}).map(
    ([key, value]) => [key, interpolator.deep(value, key)] as const,
  )
  const { allocation, job, group } = assignment
  return {
    handle,
    about: {
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
    resources: { ...resourcesOf(assignment, task, node), sharedCores },
    logs: task.LogConfig.Disabled ? undefined : logFiles(paths, task),
    mounts: additions.mounts,
    network: {
      ...taskNetwork(assignment, context.network, interpolator),
      ports: portsOf(assignment, task),
    },
  }
}

/**
 * Lets the driver fetch what the start needs; its reports become events of the task. This is no
 * start: an image may take minutes, and the starts of other tasks must not wait for it.
 */
async function fetchFor(
  drivers: AgentHost['drivers'],
  launch: TaskLaunch,
  context: DriverContext,
): Promise<TaskLaunch> {
  if (!context.signal.aborted) await drivers.get(launch.handle.driver)?.prepare?.(launch, context)
  return launch
}

/** What the scheduler granted, else what the task asks for. */
function resourcesOf(assignment: Assignment, task: AgentTask, node: NodeFacts): TaskResources {
  const granted = ownValue(assignment.allocation.AllocatedResources.Tasks, task.Name)
  const cpuMHz = granted?.Cpu.CpuShares ?? task.Resources.CPU
  const totalMHz = Number(ownValue(node.Attributes, 'cpu.totalcompute') ?? 0)
  return {
    cpuMHz,
    cpuFraction: totalMHz > 0 ? Math.min(1, cpuMHz / totalMHz) : 1,
    cores: granted?.Cpu.ReservedCores ?? [],
    memoryMB: granted?.Memory.MemoryMB ?? task.Resources.MemoryMB,
    memoryMaxMB: granted?.Memory.MemoryMaxMB ?? task.Resources.MemoryMaxMB,
  }
}

const BYTES_PER_MB = 1024 * 1024

function logFiles({ allocDir }: TaskPaths, task: AgentTask): LogFiles {
  const prefix = join(allocDir, 'logs', task.Name)
  return {
    stdoutPrefix: `${prefix}.stdout`,
    stderrPrefix: `${prefix}.stderr`,
    maxFiles: task.LogConfig.MaxFiles,
    maxFileBytes: task.LogConfig.MaxFileSizeMB * BYTES_PER_MB,
  }
}

/** The group's ports, and those that belong to the task itself in the older form. */
function portsOf(assignment: Assignment, task: AgentTask): readonly TaskPort[] {
  const { Tasks } = assignment.allocation.AllocatedResources
  const own = (ownValue(Tasks, task.Name)?.Networks ?? []).flatMap((network) => {
    const ports = [...(network.ReservedPorts ?? []), ...(network.DynamicPorts ?? [])]
    return ports.map(({ Label, Value, To }) => {
      return { label: Label, hostIp: network.IP, hostPort: Value, to: To }
    })
  })
  return [...groupPorts(assignment), ...own]
}

interface HandleInput {
  readonly driver: string
  readonly allocationId: string
  readonly task: string
  readonly attempt: number
  /** Below this the drivers keep their records. */
  readonly recordsDir: string
  readonly bootId: string
}

/** The number of the attempt keeps a restart from meeting the records before it. */
function handleFor(input: HandleInput): TaskHandle {
  const { driver, allocationId, task, attempt, bootId } = input
  const hash = createHash('sha256').update(task).digest('hex').slice(0, 12)
  const id = `${allocationId}-${hash}-${attempt}`
  return { driver, id, allocationId, task, dir: join(input.recordsDir, id), bootId }
}
