import type { AllocationStub } from '@reeve/contract'
import { gatheredFrames } from '../alloc/copy.ts'
import { lastLines } from '../alloc/tail.ts'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { shortId } from '../output/table.ts'
import { findJob } from './find-job.ts'
import { JobLogLines } from './log-lines.ts'

const TYPES = ['stdout', 'stderr'] as const
type LogType = (typeof TYPES)[number]

interface Wish {
  readonly jobId: string
  readonly namespace: string
  readonly group: string | undefined
  readonly task: string | undefined
  readonly types: readonly LogType[]
}

/** One output of one task. */
interface Source {
  readonly allocation: AllocationStub
  readonly task: string
  readonly type: LogType
}

/** `job logs`: what the tasks of a job wrote, one allocation after the other or as it comes. */
export async function runJobLogs(invocation: Invocation): Promise<number> {
  const { args, flags } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  if (flags.text('task') !== undefined && args[1] !== undefined) {
    throw new UsageError('Name the task once: as an argument, or with --task.')
  }
  const asked = TYPES.filter((type) => flags.has(type))
  const wish: Wish = {
    jobId: ID,
    namespace: Namespace,
    group: flags.text('group'),
    task: flags.text('task') ?? args[1],
    types: asked.length === 0 ? TYPES : asked,
  }
  const chosen = await choose(invocation, wish)
  if (flags.has('follow')) await follow(invocation, wish, chosen)
  else await copyAll(invocation, wish, chosen.sources)
  return EXIT_CODES.ok
}

interface Chosen {
  readonly sources: readonly Source[]
  /** Allocations that had ended before, and are not asked for. */
  readonly hidden: ReadonlySet<string>
}

async function choose(invocation: Invocation, wish: Wish): Promise<Chosen> {
  const all = await allocationsOf(invocation, wish)
  const current = all.filter(isCurrent)
  const newestIndex = Math.max(0, ...all.map(({ CreateIndex }) => CreateIndex))
  // Of a job that has ended, those that were placed last, together.
  const last = all.filter(({ CreateIndex }) => CreateIndex === newestIndex)
  const isAll = invocation.flags.has('all-allocs')
  const allocations = isAll ? all : current.length > 0 ? current : last
  const sources = allocations.flatMap((allocation) =>
    startedTasks(allocation)
      .filter((task) => wish.task === undefined || task === wish.task)
      .flatMap((task) => wish.types.map((type) => ({ allocation, task, type }))),
  )
  // What is followed may be yet to come.
  if (sources.length === 0 && !invocation.flags.has('follow')) throw nothingWritten(wish, all)
  const hidden = all.filter((one) => !allocations.includes(one)).map(({ ID }) => ID)
  return { sources, hidden: new Set(hidden) }
}

function isCurrent({ DesiredStatus, ClientStatus }: AllocationStub): boolean {
  return DesiredStatus === 'run' && (ClientStatus === 'running' || ClientStatus === 'pending')
}

async function allocationsOf(
  { client }: Invocation,
  { jobId, namespace, group }: Wish,
): Promise<readonly AllocationStub[]> {
  const { data } = await client.v1.listJobAllocations({
    params: { job_id: jobId },
    query: { namespace },
  })
  const wanted = group === undefined ? data : data.filter(({ TaskGroup }) => TaskGroup === group)
  return wanted.toSorted((a, b) => a.CreateIndex - b.CreateIndex || (a.ID < b.ID ? -1 : 1))
}

/** A task that has not started has no output yet. */
function startedTasks({ TaskStates }: AllocationStub): readonly string[] {
  const states = Object.entries(TaskStates ?? {})
  return states.filter(([, { StartedAt }]) => Date.parse(StartedAt) > 0).map(([name]) => name)
}

function nothingWritten(
  { jobId, group, task }: Wish,
  all: readonly AllocationStub[],
): CommandFailure {
  const known = [...new Set(all.flatMap(({ TaskStates }) => Object.keys(TaskStates ?? {})))]
  if (task !== undefined && known.length > 0 && !known.includes(task)) {
    return new CommandFailure(`Job "${jobId}" has no task "${task}".`, {
      code: EXIT_CODES.missing,
      hint: `It has ${known.toSorted().join(', ')}.`,
    })
  }
  const where = group === undefined ? '' : ` in group "${group}"`
  return new CommandFailure(`No task of job "${jobId}"${where} has started yet.`, {
    code: EXIT_CODES.missing,
    hint: `To see why: reeve job explain ${jobId}`,
  })
}

async function copyAll(
  invocation: Invocation,
  wish: Wish,
  sources: readonly Source[],
): Promise<void> {
  const { flags, host } = invocation
  const lines = flags.whole('tail')
  const isPrefixed = placesIn(sources) > 1
  for (const source of sources) {
    const bytes = await readSource(invocation, wish, { source, lines })
    const text = isPrefixed ? prefixed(bytes, source) : bytes
    await (source.type === 'stdout' ? host.outBytes(text) : host.errBytes(text))
  }
}

/** Outputs that a person could take for one another. */
function placesIn(sources: readonly Source[]): number {
  return new Set(sources.map(({ allocation, task }) => `${allocation.ID} ${task}`)).size
}

interface Reading {
  readonly source: Source
  /** Undefined reads all of it. */
  readonly lines: number | undefined
}

async function readSource(
  { client, signal }: Invocation,
  { namespace }: Wish,
  { source, lines }: Reading,
): Promise<Uint8Array> {
  const { allocation, task, type } = source
  const read = (fromEnd: number | undefined) => {
    const where = fromEnd === undefined ? {} : { origin: 'end', offset: fromEnd }
    const query = { namespace, task, type, follow: false, ...where }
    const params = { alloc_id: allocation.ID }
    return gatheredFrames(client.frames('streamLogs', { params, query, signal }))
  }
  return lines === undefined ? await read(undefined) : await lastLines(lines, read)
}

function prefixed(bytes: Uint8Array, { allocation, task }: Source): Uint8Array {
  const text = new TextDecoder().decode(bytes)
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const named = lines.map((line) => `${shortId(allocation.ID)} ${task}: ${line}\n`)
  return new TextEncoder().encode(named.join(''))
}

/** New allocations are followed as they come, until the job has ended. */
async function follow(invocation: Invocation, wish: Wish, chosen: Chosen): Promise<void> {
  const { client, flags, host, signal } = invocation
  const { sources, hidden } = chosen
  const lines = flags.whole('tail')
  const tails = lines === undefined ? [] : await tailLengths(invocation, wish, { sources, lines })
  const from = lines === undefined ? {} : { origin: 'end', offset: Math.max(0, ...tails) }
  const [type] = wish.types.length === 1 ? wish.types : []
  const { data } = await client.open('streamJobLogs', {
    params: { job_id: wish.jobId },
    query: {
      namespace: wish.namespace,
      task: wish.task,
      type,
      follow: true,
      prefix: true,
      ...from,
    },
    signal,
    timeoutMs: 0,
  })
  const shown = new JobLogLines({
    isKeptPrefix: placesIn(sources) > 1,
    isShown: async (short) => {
      const all = await allocationsOf(invocation, wish)
      return all.some(({ ID }) => shortId(ID) === short && !hidden.has(ID))
    },
  })
  for await (const chunk of data) {
    const text = await shown.add(chunk)
    if (text !== '') await host.outBytes(new TextEncoder().encode(text))
  }
}

async function tailLengths(
  invocation: Invocation,
  wish: Wish,
  { sources, lines }: { readonly sources: readonly Source[]; readonly lines: number },
): Promise<readonly number[]> {
  const lengths: number[] = []
  for (const source of sources) {
    lengths.push((await readSource(invocation, wish, { source, lines })).length)
  }
  return lengths
}
