import { setTimeout } from 'node:timers/promises'
import type { AllocationStub } from '@reeve/contract'
import { parseDurationMs } from '@reeve/kit/duration.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { CommandContext } from '../command.ts'
import { prompt, canPrompt } from '../confirm.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { shortenId } from '../output/format.ts'
import { pluralize } from '../plan/placement-failures.ts'
import { findJob } from './find-job.ts'

/** `job restart`: restarts the tasks of a job in batches. */
export async function runJobRestart(invocation: CommandContext): Promise<number> {
  const { args, flags, output } = invocation
  const pace = parseRestartOptions(invocation)
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const running = await runningAllocations(invocation, { jobId: ID, namespace: Namespace })
  if (running.length === 0) {
    throw new CommandError(`Job "${ID}" has no running allocation to restart.`, {
      code: EXIT_CODES.missing,
      hint: `See how it does with "reeve job status ${ID}".`,
    })
  }
  const size = batchSize(flags.string('batch-size') ?? '1', running.length)
  const restarted: string[] = []
  for (let at = 0; at < running.length; at += size) {
    if (at > 0) await waitForNextBatch(invocation, pace)
    const batch = running.slice(at, at + size)
    const ends = await Promise.allSettled(batch.map((one) => restartOne(invocation, one)))
    restarted.push(...batch.filter((_, i) => ends[i]?.status === 'fulfilled').map((one) => one.ID))
    output.printLine(`${restarted.length} of ${pluralize(running.length, 'allocation')} restarted.`)
    const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
    await handleFailures(invocation, pace, { failures, isLast: at + size >= running.length })
  }
  if (output.isStructured) output.print({ JobID: ID, Restarted: restarted }, () => '')
  return restarted.length === running.length ? EXIT_CODES.ok : EXIT_CODES.failed
}

/** Behavior between batches and on errors. */
interface RestartOptions {
  /** Pause between batches; `ask` prompts for confirmation. */
  readonly batchWait: number | 'ask'
  readonly onError: 'ask' | 'fail'
}

/**
 * Validates the flags before the first request, so that no batch is restarted with invalid ones.
 */
function parseRestartOptions(invocation: CommandContext): RestartOptions {
  const { flags } = invocation
  if (flags.has('reschedule') && (flags.strings('task').length > 0 || flags.has('all-tasks'))) {
    throw new UsageError(
      '--reschedule replaces whole allocations: leave out --task and --all-tasks.',
    )
  }
  const isNonInteractive = !canPrompt(invocation)
  const text = flags.string('batch-wait') ?? '0s'
  const wait = text === 'ask' ? text : parseDurationMs(text)
  if (wait === undefined || (wait !== 'ask' && wait < 0)) {
    throw new UsageError(`--batch-wait is a duration such as 30s, or "ask", not "${text}".`)
  }
  const onError = flags.oneOf('on-error', ['ask', 'fail']) ?? (isNonInteractive ? 'fail' : 'ask')
  if (isNonInteractive && (onError === 'ask' || (wait === 'ask' && !flags.has('yes')))) {
    throw new UsageError('cannot ask without a terminal: give a duration, and --on-error fail.')
  }
  return { batchWait: wait, onError }
}

async function waitForNextBatch(
  invocation: CommandContext,
  { batchWait }: RestartOptions,
): Promise<void> {
  const { flags, signal } = invocation
  if (batchWait !== 'ask') return await setTimeout(batchWait, undefined, { signal })
  if (flags.has('yes') || (await prompt(invocation, 'Continue with the next batch?'))) return
  throw new CommandError('The other allocations were not restarted.')
}

interface BatchResult {
  readonly failures: readonly unknown[]
  readonly isLast: boolean
}

/** Throws the first failure, unless the user chooses to continue. */
async function handleFailures(
  invocation: CommandContext,
  pace: RestartOptions,
  end: BatchResult,
): Promise<void> {
  const { failures } = end
  if (failures.length === 0) return
  const commandError = failures.find((failure) => failure instanceof CommandError)
  if (commandError === undefined || pace.onError === 'fail') throw commandError ?? failures[0]
  for (const failure of failures) invocation.output.printNotice(errorMessage(failure))
  if (end.isLast || (await prompt(invocation, 'Continue with the other allocations?'))) return
  throw new CommandError('The other allocations were not restarted.')
}

async function runningAllocations(
  { client, flags }: CommandContext,
  { jobId, namespace }: { readonly jobId: string; readonly namespace: string },
): Promise<readonly AllocationStub[]> {
  const query = { namespace }
  const { data } = await client.v1.listJobAllocations({ params: { job_id: jobId }, query })
  const groups = flags.strings('group')
  return data
    .filter(
      ({ ClientStatus, DesiredStatus }) => ClientStatus === 'running' && DesiredStatus === 'run',
    )
    .filter(({ TaskGroup }) => groups.length === 0 || groups.includes(TaskGroup))
    .toSorted((a, b) => (a.Name < b.Name ? -1 : 1))
}

/** Parses a batch size such as `2` or `30%`, at least one allocation. */
function batchSize(text: string, count: number): number {
  const [, digits = '', percent] = /^(\d{1,6})(%?)$/.exec(text) ?? []
  const number = Number(digits)
  if (digits === '' || number === 0 || (percent === '%' && number > 100)) {
    throw new UsageError(
      `--batch-size needs a number such as 2, or a share such as 25%, not "${text}".`,
    )
  }
  return percent === '%' ? Math.max(1, Math.floor((count * number) / 100)) : number
}

async function restartOne(invocation: CommandContext, allocation: AllocationStub): Promise<void> {
  const { client, flags, output } = invocation
  const params = { alloc_id: allocation.ID }
  const query = { namespace: allocation.Namespace }
  if (flags.has('reschedule')) {
    await client.v1.stopAllocation({ params, query })
    const next = await waitForReplacement(invocation, allocation)
    output.printLine(`Allocation ${shortenId(allocation.ID)} is replaced by ${shortenId(next)}.`)
    return
  }
  const tasks = flags.strings('task')
  const bodies = flags.has('all-tasks')
    ? [{ AllTasks: true }]
    : tasks.length === 0
      ? [{}]
      : tasks.map((task) => ({ TaskName: task }))
  for (const body of bodies) await client.v1.restartAllocation({ params, query, body })
  await waitUntilRestarted(invocation, allocation)
  output.printLine(`Allocation ${shortenId(allocation.ID)} (${allocation.Name}) is restarted.`)
}

/** Waits until the allocation runs again, before the next batch starts. */
async function waitUntilRestarted(
  { client, signal }: CommandContext,
  { ID, Namespace, TaskStates }: AllocationStub,
): Promise<void> {
  const before = latestStartTime(TaskStates)
  const request = { params: { alloc_id: ID }, query: { namespace: Namespace }, signal }
  for await (const { data } of client.blocking('readAllocation', request)) {
    if (data.ClientStatus === 'running' && latestStartTime(data.TaskStates) > before) return
    if (isTerminal(data)) throw terminatedError(`Allocation ${shortenId(ID)}`, data)
  }
}

/** Returns the latest start of a task, in the time of its node. */
function latestStartTime(states: AllocationStub['TaskStates']): number {
  const events = Object.values(states ?? {}).flatMap(({ Events }) => Events)
  return Math.max(0, ...events.filter(({ Type }) => Type === 'Started').map(({ Time }) => Time))
}

type TerminatedAllocation = Pick<AllocationStub, 'ID' | 'ClientStatus'>

function isTerminal({ ClientStatus }: TerminatedAllocation): boolean {
  return ['complete', 'failed', 'lost'].includes(ClientStatus)
}

function terminatedError(who: string, { ID, ClientStatus }: TerminatedAllocation): CommandError {
  return new CommandError(`${who} is ${ClientStatus}.`, {
    hint: `The other allocations were not restarted. See why: reeve alloc status ${shortenId(ID)}`,
  })
}

/** Waits until the replacement runs and returns its ID. */
async function waitForReplacement(
  { client, signal }: CommandContext,
  { ID, Namespace }: AllocationStub,
): Promise<string> {
  const query = { namespace: Namespace }
  let id = ID
  for (;;) {
    const following = client.blocking('readAllocation', { params: { alloc_id: id }, query, signal })
    for await (const { data } of following) {
      if (id !== ID && data.ClientStatus === 'running') return id
      if (id !== ID && isTerminal(data) && data.NextAllocation === '') {
        throw terminatedError(`Allocation ${shortenId(id)}, which replaces ${shortenId(ID)},`, data)
      }
      if (data.NextAllocation === '') continue
      id = data.NextAllocation
      break
    }
  }
}
