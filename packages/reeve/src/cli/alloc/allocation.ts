import {
  type CheckResult,
  failureOf,
  PAUSE_STATES,
  type PauseState,
  type ResourceUsage,
} from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES, UsageError } from '../errors.ts'
import { watchEvaluation } from '../eval/wait-for-evaluation.ts'
import { statusStyle } from '../output/color.ts'
import { formatAge, formatSize, renderTable, shortenId } from '../output/format.ts'
import {
  findAllocation,
  allocationRequest,
  type AllocationStub,
  resolveAllocation,
  resolveTask,
} from './find-allocation.ts'
import { formatAllocation, formatAllocationTable, readFailureReport } from './allocation-text.ts'

export async function runAllocStatus(invocation: CommandContext): Promise<number> {
  const [given] = invocation.args
  if (given === undefined) await listAllocations(invocation)
  else await showAllocation(invocation, given)
  return EXIT_CODES.ok
}

async function listAllocations(invocation: CommandContext): Promise<void> {
  const { client, flags, output, signal } = invocation
  const query = { filter: filterOf(flags.string('job'), flags.has('all')), reverse: true }
  const found: AllocationStub[] = []
  for await (const one of client.pages('listAllocations', { query, signal })) found.push(one)
  output.print(found, () =>
    found.length === 0
      ? 'There are no allocations. "reeve job run" places some; --all shows ended ones too.'
      : formatAllocationTable(found, invocation),
  )
}

/** Builds the filter. Terminal allocations are omitted by default, because there are many. */
function filterOf(job: string | undefined, isAll: boolean): string | undefined {
  const parts = [
    ...(job === undefined ? [] : [`JobID == ${JSON.stringify(job)}`]),
    ...(isAll ? [] : ['ClientStatus != "complete"', 'ClientStatus != "lost"']),
  ]
  return parts.length === 0 ? undefined : parts.join(' and ')
}

async function showAllocation(invocation: CommandContext, given: string): Promise<void> {
  const { client, output } = invocation
  const found = await findAllocation(invocation, given)
  const { data } = await client.v1.readAllocation(allocationRequest(found))
  const isFailing = failureOf(data, invocation.host.nowMs()) !== undefined
  const failure = isFailing ? await readFailureReport(invocation, data) : undefined
  output.print(failure === undefined ? data : { ...data, FailureReport: failure }, () =>
    formatAllocation(data, failure, invocation),
  )
}

/** `alloc stats`: prints the current and the reserved resources of an allocation. */
export async function runAllocStats(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const allocation = await resolveAllocation(invocation, args[0])
  const named = flags.string('task')
  const task = named === undefined ? undefined : resolveTask(allocation, named)
  const { params, query } = allocationRequest(allocation)
  const { data } = await client.v1.readAllocationStats({ params, query: { ...query, task } })
  output.print(data, () => {
    const tasks = Object.entries(data.Tasks).toSorted(([a], [b]) => (a < b ? -1 : 1))
    const rows = tasks.map(([name, { ResourceUsage }]) => {
      const asked = allocation.TaskResources?.[name]
      return usageRow(name, ResourceUsage, asked)
    })
    if (rows.length === 0) return 'No task runs.'
    const sum = rows.length > 1 ? [usageRow('all', data.ResourceUsage, undefined)] : []
    const heading = ['Task', 'CPU', 'Reserved', 'CPU %', 'Memory', 'Reserved', 'Peak']
    return renderTable(heading, [...rows, ...sum])
  })
  return EXIT_CODES.ok
}

interface ReservedResources {
  readonly CPU: number
  readonly MemoryMB: number
}

function usageRow(
  name: string,
  { CpuStats, MemoryStats }: ResourceUsage,
  reserved: ReservedResources | undefined,
) {
  const used = MemoryStats.Usage > 0 ? MemoryStats.Usage : MemoryStats.RSS
  return [
    name,
    `${Math.round(CpuStats.TotalTicks)} MHz`,
    reserved === undefined ? '' : `${reserved.CPU} MHz`,
    CpuStats.Percent.toFixed(1),
    formatSize(used),
    reserved === undefined ? '' : `${reserved.MemoryMB} MiB`,
    MemoryStats.MaxUsage > 0 ? formatSize(MemoryStats.MaxUsage) : '',
  ]
}

/** `alloc checks`: prints the latest result of each health check; exits with 1 while one fails. */
export async function runAllocChecks(invocation: CommandContext): Promise<number> {
  const { args, client, output } = invocation
  const allocation = await resolveAllocation(invocation, args[0])
  const { data } = await client.v1.readAllocationChecks(allocationRequest(allocation))
  const results = Object.values(data).toSorted(byService)
  output.print(data, () =>
    results.length === 0
      ? `Allocation ${allocation.Name} has no health checks.`
      : formatChecks(results, invocation),
  )
  return results.some(({ Status }) => Status === 'failure') ? EXIT_CODES.failed : EXIT_CODES.ok
}

function byService(a: CheckResult, b: CheckResult): number {
  const [one, other] = [`${a.Service}\0${a.Check}\0${a.ID}`, `${b.Service}\0${b.Check}\0${b.ID}`]
  return one < other ? -1 : 1
}

function formatChecks(results: readonly CheckResult[], { host, output }: CommandContext): string {
  const rows = results.map((result) => [
    result.Service,
    result.Check,
    result.Task ?? '',
    output.paint(statusStyle(result.Status), result.Status),
    result.StatusCode === undefined ? '' : String(result.StatusCode),
    `${formatAge(host.nowMs() - result.Timestamp * 1000)} ago`,
  ])
  const failures = results.filter(({ Status }) => Status === 'failure')
  const details = failures.map(
    ({ Service, Check, Output }) => `\nCheck "${Check}" of service "${Service}":\n${Output}\n`,
  )
  return `${renderTable(['Service', 'Check', 'Task', 'Status', 'Code', 'Checked'], rows)}${details.join('')}`
}

const DEFAULT_SIGNAL = 'SIGKILL'

export async function runAllocSignal(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const allocation = await findAllocation(invocation, args[0] ?? '')
  const Task = optionalTask(invocation, allocation)
  const Signal = flags.string('signal') ?? DEFAULT_SIGNAL
  await client.v1.signalAllocation({ ...allocationRequest(allocation), body: { Signal, Task } })
  output.printLine(`${Signal} was sent to ${describeTarget(allocation, Task)}.`)
  return EXIT_CODES.ok
}

export async function runAllocRestart(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const allocation = await findAllocation(invocation, args[0] ?? '')
  const TaskName = optionalTask(invocation, allocation)
  const AllTasks = flags.has('all-tasks')
  await client.v1.restartAllocation({
    ...allocationRequest(allocation),
    body: { TaskName, AllTasks },
  })
  output.printLine(`Restarted ${describeTarget(allocation, TaskName)} in place.`)
  return EXIT_CODES.ok
}

export async function runAllocPause(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const requestedState = flags.string('state') ?? 'pause'
  const state = PAUSE_STATES.find((known) => known === requestedState)
  if (state === undefined)
    throw new UsageError(
      `--state must be one of ${PAUSE_STATES.join(', ')}, not "${requestedState}".`,
    )
  const allocation = await findAllocation(invocation, args[0] ?? '')
  const { params, query } = allocationRequest(allocation)
  const Task = resolveTask(allocation, flags.string('task') ?? args[1])
  if (flags.has('status')) {
    const { data } = await client.v1.readAllocationPause({
      params,
      query: { ...query, task: Task },
    })
    output.printLine(data.ScheduleState)
    return EXIT_CODES.ok
  }
  await client.v1.pauseAllocation({ params, query, body: { Task, ScheduleState: state } })
  output.printLine(PAUSE_TEXTS[state](describeTarget(allocation, Task)))
  return EXIT_CODES.ok
}

const PAUSE_TEXTS = {
  pause: (task) => `Paused ${task}. Use "--state scheduled" to give it back to its schedule.`,
  run: (task) => `Running ${task} regardless of its schedule.`,
  scheduled: (task) => `Gave ${task} back to its schedule.`,
} as const satisfies Record<PauseState, (task: string) => string>

/** Returns the given task; an empty string stands for all tasks in the API. */
function optionalTask({ args, flags }: CommandContext, allocation: AllocationStub): string {
  const given = flags.string('task') ?? args[1]
  return given === undefined ? '' : resolveTask(allocation, given)
}

function describeTarget({ ID, Name }: AllocationStub, task: string): string {
  const where = `allocation ${shortenId(ID)} (${Name})`
  return task === '' ? `the tasks of ${where}` : `task "${task}" of ${where}`
}

export async function runAllocStop(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const allocation = await findAllocation(invocation, args[0] ?? '')
  const { params, query } = allocationRequest(allocation)
  const { data } = await client.v1.stopAllocation({
    params,
    query: { ...query, no_shutdown_delay: flags.isNegated('shutdown-delay') },
  })
  const evaluation = { id: data.EvalID, namespace: allocation.Namespace }
  output.printLine(
    `Allocation ${shortenId(allocation.ID)} (${allocation.Name}) is being stopped ` +
      `(evaluation ${shortenId(evaluation.id)}).`,
  )
  if (flags.has('detach')) return EXIT_CODES.ok
  return await watchEvaluation(invocation, evaluation)
}
