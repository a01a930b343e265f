import { setTimeout } from 'node:timers/promises'
import type { AllocationStub } from '@reeve/contract'
import { parseDurationMs } from '@reeve/kit/duration.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { Invocation } from '../command.ts'
import { ask, canAsk } from '../confirm.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { shortId } from '../output/table.ts'
import { counted } from '../plan/metrics-text.ts'
import { findJob } from './find-job.ts'

/** `job restart`: the tasks of a job anew, a few allocations at a time. */
export async function runJobRestart(invocation: Invocation): Promise<number> {
  const { args, flags, output } = invocation
  const pace = paceOf(invocation)
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const running = await runningAllocations(invocation, { jobId: ID, namespace: Namespace })
  if (running.length === 0) {
    throw new CommandFailure(`Job "${ID}" has no running allocation to restart.`, {
      code: EXIT_CODES.missing,
      hint: `See how it does with "reeve job status ${ID}".`,
    })
  }
  const size = batchSize(flags.text('batch-size') ?? '1', running.length)
  const restarted: string[] = []
  for (let at = 0; at < running.length; at += size) {
    if (at > 0) await waitBetween(invocation, pace)
    const batch = running.slice(at, at + size)
    const ends = await Promise.allSettled(batch.map((one) => restartOne(invocation, one)))
    restarted.push(...batch.filter((_, i) => ends[i]?.status === 'fulfilled').map((one) => one.ID))
    output.say(`${restarted.length} of ${counted(running.length, 'allocation')} restarted.`)
    const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
    await goOnAfter(invocation, pace, { failures, isLast: at + size >= running.length })
  }
  if (output.isForMachines) output.show({ JobID: ID, Restarted: restarted }, () => '')
  return restarted.length === running.length ? EXIT_CODES.ok : EXIT_CODES.failed
}

/** What happens between batches. */
interface Pace {
  /** `ask` leaves it to a person when the next one begins. */
  readonly wait: number | 'ask'
  readonly onError: 'ask' | 'fail'
}

/** Before anything is asked of the server: what makes no sense must not restart a first batch. */
function paceOf(invocation: Invocation): Pace {
  const { flags } = invocation
  if (flags.has('reschedule') && (flags.texts('task').length > 0 || flags.has('all-tasks'))) {
    throw new UsageError(
      '--reschedule replaces whole allocations: leave out --task and --all-tasks.',
    )
  }
  const isAlone = !canAsk(invocation)
  const text = flags.text('batch-wait') ?? '0s'
  const wait = text === 'ask' ? text : parseDurationMs(text)
  if (wait === undefined || (wait !== 'ask' && wait < 0)) {
    throw new UsageError(`--batch-wait is a duration such as 30s, or "ask", not "${text}".`)
  }
  const onError = flags.oneOf('on-error', ['ask', 'fail']) ?? (isAlone ? 'fail' : 'ask')
  if (isAlone && (onError === 'ask' || (wait === 'ask' && !flags.has('yes')))) {
    throw new UsageError('cannot ask without a terminal: give a duration, and --on-error fail.')
  }
  return { wait, onError }
}

async function waitBetween(invocation: Invocation, { wait }: Pace): Promise<void> {
  const { flags, signal } = invocation
  if (wait !== 'ask') return await setTimeout(wait, undefined, { signal })
  if (flags.has('yes') || (await ask(invocation, 'Continue with the next batch?'))) return
  throw new CommandFailure('The other allocations were not restarted.')
}

interface BatchEnd {
  readonly failures: readonly unknown[]
  readonly isLast: boolean
}

/** The first failure is thrown unless a person wants to go on without those that failed. */
async function goOnAfter(invocation: Invocation, pace: Pace, end: BatchEnd): Promise<void> {
  const { failures } = end
  if (failures.length === 0) return
  const told = failures.find((failure) => failure instanceof CommandFailure)
  if (told === undefined || pace.onError === 'fail') throw told ?? failures[0]
  for (const failure of failures) invocation.output.note(errorMessage(failure))
  if (end.isLast || (await ask(invocation, 'Continue with the other allocations?'))) return
  throw new CommandFailure('The other allocations were not restarted.')
}

async function runningAllocations(
  { client, flags }: Invocation,
  { jobId, namespace }: { readonly jobId: string; readonly namespace: string },
): Promise<readonly AllocationStub[]> {
  const query = { namespace }
  const { data } = await client.v1.listJobAllocations({ params: { job_id: jobId }, query })
  const groups = flags.texts('group')
  return data
    .filter(
      ({ ClientStatus, DesiredStatus }) => ClientStatus === 'running' && DesiredStatus === 'run',
    )
    .filter(({ TaskGroup }) => groups.length === 0 || groups.includes(TaskGroup))
    .toSorted((a, b) => (a.Name < b.Name ? -1 : 1))
}

/** `2`, or `30%` of what runs, at least one. */
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

async function restartOne(invocation: Invocation, allocation: AllocationStub): Promise<void> {
  const { client, flags, output } = invocation
  const params = { alloc_id: allocation.ID }
  const query = { namespace: allocation.Namespace }
  if (flags.has('reschedule')) {
    await client.v1.stopAllocation({ params, query })
    const next = await replacementOf(invocation, allocation)
    output.say(`Allocation ${shortId(allocation.ID)} is replaced by ${shortId(next)}.`)
    return
  }
  const tasks = flags.texts('task')
  const bodies = flags.has('all-tasks')
    ? [{ AllTasks: true }]
    : tasks.length === 0
      ? [{}]
      : tasks.map((task) => ({ TaskName: task }))
  for (const body of bodies) await client.v1.restartAllocation({ params, query, body })
  await untilStarted(invocation, allocation)
  output.say(`Allocation ${shortId(allocation.ID)} (${allocation.Name}) is restarted.`)
}

/** Waits until it runs again: the next batch must not be one too many. */
async function untilStarted(
  { client, signal }: Invocation,
  { ID, Namespace, TaskStates }: AllocationStub,
): Promise<void> {
  const before = lastStart(TaskStates)
  const request = { params: { alloc_id: ID }, query: { namespace: Namespace }, signal }
  for await (const { data } of client.blocking('readAllocation', request)) {
    if (data.ClientStatus === 'running' && lastStart(data.TaskStates) > before) return
    if (isOver(data)) throw overFailure(`Allocation ${shortId(ID)}`, data)
  }
}

/** When a task last began, in the time of its node. */
function lastStart(states: AllocationStub['TaskStates']): number {
  const events = Object.values(states ?? {}).flatMap(({ Events }) => Events)
  return Math.max(0, ...events.filter(({ Type }) => Type === 'Started').map(({ Time }) => Time))
}

type Ended = Pick<AllocationStub, 'ID' | 'ClientStatus'>

function isOver({ ClientStatus }: Ended): boolean {
  return ['complete', 'failed', 'lost'].includes(ClientStatus)
}

function overFailure(who: string, { ID, ClientStatus }: Ended): CommandFailure {
  return new CommandFailure(`${who} is ${ClientStatus}.`, {
    hint: `The other allocations were not restarted. See why: reeve alloc status ${shortId(ID)}`,
  })
}

/** Waits until the allocation that takes its place runs, likewise. */
async function replacementOf(
  { client, signal }: Invocation,
  { ID, Namespace }: AllocationStub,
): Promise<string> {
  const query = { namespace: Namespace }
  let id = ID
  for (;;) {
    const following = client.blocking('readAllocation', { params: { alloc_id: id }, query, signal })
    for await (const { data } of following) {
      if (id !== ID && data.ClientStatus === 'running') return id
      if (id !== ID && isOver(data) && data.NextAllocation === '') {
        throw overFailure(`Allocation ${shortId(id)}, which replaces ${shortId(ID)},`, data)
      }
      if (data.NextAllocation === '') continue
      id = data.NextAllocation
      break
    }
  }
}
