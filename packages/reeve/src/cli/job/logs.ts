import type { AllocationStub } from '@reeve/contract'
import { gatheredFrames } from '../alloc/copy.ts'
import { startedTasks } from '../alloc/started-tasks.ts'
import { lastLines } from '../alloc/tail.ts'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { taskWriter } from '../output/printable.ts'
import { shortId } from '../output/table.ts'
import { nextCommand } from '../plan/next-command.ts'
import { childrenOf, isParent, type JobStub } from './children.ts'
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
  const { ID, Namespace } = await jobWithLogs(invocation, await findJob(invocation, args[0] ?? ''))
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

/** A periodic or parameterized job runs nothing itself: its newest child does. */
async function jobWithLogs(invocation: Invocation, job: JobStub): Promise<JobStub> {
  if (!isParent(job)) return job
  const [newest] = await childrenOf(invocation, job)
  if (newest === undefined) {
    throw new CommandFailure(`Job "${job.ID}" has no child jobs yet, so there are no logs.`, {
      code: EXIT_CODES.missing,
    })
  }
  invocation.output.note(`Logs of the newest child job, "${newest.ID}":`)
  return newest
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
  const allocations = isAll ? all : current.length > 0 ? withDone(all, current) : last
  const sources = allocations.flatMap((allocation) =>
    startedTasks(allocation)
      .filter((task) => wish.task === undefined || task === wish.task)
      .flatMap((task) => wish.types.map((type) => ({ allocation, task, type }))),
  )
  // What is followed may be yet to come.
  if (sources.length === 0 && !invocation.flags.has('follow')) {
    throw nothingWritten(invocation, wish, all)
  }
  const hidden = all.filter((one) => !allocations.includes(one)).map(({ ID }) => ID)
  return { sources, hidden: new Set(hidden) }
}

/**
 * With those that were placed beside them and have done their work already: of a batch job, some
 * end while others run on.
 */
function withDone(
  all: readonly AllocationStub[],
  current: readonly AllocationStub[],
): readonly AllocationStub[] {
  const since = Math.min(...current.map(({ CreateIndex }) => CreateIndex))
  return all.filter((one) => current.includes(one) || (isDone(one) && one.CreateIndex >= since))
}

function isDone({ DesiredStatus, ClientStatus }: AllocationStub): boolean {
  return DesiredStatus === 'run' && ClientStatus === 'complete'
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

function nothingWritten(
  invocation: Invocation,
  { jobId, namespace, group, task }: Wish,
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
  const newest = all.at(-1)
  // What has a place waits for something on its node, or failed there: only its events tell.
  const words =
    newest === undefined ? ['job', 'explain', jobId] : ['alloc', 'status', shortId(newest.ID)]
  return new CommandFailure(`No task of job "${jobId}"${where} has started yet.`, {
    code: EXIT_CODES.missing,
    hint: `To see why: ${nextCommand(invocation, words, namespace)}`,
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
    await taskWriter(host, source.type)(text)
  }
}

/** Outputs that a person could take for one another. */
function placesIn(sources: readonly Source[]): number {
  return new Set(sources.map(placeOf)).size
}

/** What the lines of a merged output begin with. */
function placeOf({ allocation, task }: Source): string {
  return `${shortId(allocation.ID)} ${task}`
}

interface Reading {
  readonly source: Source
  /** Only the last lines. */
  readonly lines?: number | undefined
  /** Only the last bytes. */
  readonly bytes?: number
}

async function readSource(
  { client, signal }: Invocation,
  { namespace }: Wish,
  { source, lines, bytes }: Reading,
): Promise<Uint8Array> {
  const { allocation, task, type } = source
  const read = (fromEnd: number | undefined) => {
    const where = fromEnd === undefined ? {} : { origin: 'end', offset: fromEnd }
    const query = { namespace, task, type, follow: false, ...where }
    const params = { alloc_id: allocation.ID }
    return gatheredFrames(client.frames('streamLogs', { params, query, signal }))
  }
  return lines === undefined ? await read(bytes) : await lastLines(lines, read)
}

function prefixed(bytes: Uint8Array, source: Source): Uint8Array {
  const text = new TextDecoder().decode(bytes)
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const named = lines.map((line) => `${placeOf(source)}: ${line}\n`)
  return new TextEncoder().encode(named.join(''))
}

/** New allocations are followed as they come, until the job has ended. */
async function follow(invocation: Invocation, wish: Wish, chosen: Chosen): Promise<void> {
  const lines = invocation.flags.whole('tail')
  const [only] = wish.types.length === 1 ? wish.types : []
  if (lines === undefined) return await followMerged(invocation, wish, { chosen, type: only })
  // Merged outputs of one task cannot be told apart: each has its own last lines.
  const endings = new AbortController()
  const signal = AbortSignal.any([invocation.signal, endings.signal])
  await Promise.all(
    wish.types.map(async (type) => {
      const sources = chosen.sources.filter((source) => source.type === type)
      const tail = await tailOf(invocation, wish, { sources, lines })
      try {
        await followMerged({ ...invocation, signal }, wish, { chosen, type, tail })
      } catch (thrown) {
        endings.abort()
        throw thrown
      }
    }),
  )
}

interface Following {
  readonly chosen: Chosen
  /** Both when undefined. */
  readonly type: LogType | undefined
  /** From the beginning when undefined. */
  readonly tail?: Tail
}

async function followMerged(
  invocation: Invocation,
  wish: Wish,
  { chosen, type, tail }: Following,
): Promise<void> {
  const { client, host, signal } = invocation
  const from = tail === undefined ? {} : { origin: 'end', offset: tail.bytes }
  const named = { namespace: wish.namespace, task: wish.task, type }
  const { data } = await client.open('streamJobLogs', {
    params: { job_id: wish.jobId },
    query: { ...named, follow: true, prefix: true, ...from },
    signal,
    timeoutMs: 0,
  })
  const shown = new JobLogLines({
    isKeptPrefix: placesIn(chosen.sources) > 1,
    skipped: tail?.skipped ?? new Map(),
    isShown: async (short) => {
      const all = await allocationsOf(invocation, wish)
      return all.some(({ ID }) => shortId(ID) === short && !chosen.hidden.has(ID))
    },
  })
  const write = taskWriter(host)
  for await (const chunk of data) {
    const text = await shown.add(chunk)
    if (text !== '') await write(new TextEncoder().encode(text))
  }
}

/** One distance from the end for all outputs, and what lies before the last lines of each there. */
interface Tail {
  readonly bytes: number
  readonly skipped: ReadonlyMap<string, number>
}

async function tailOf(
  invocation: Invocation,
  wish: Wish,
  { sources, lines }: { readonly sources: readonly Source[]; readonly lines: number },
): Promise<Tail> {
  const read = (source: Source, wanted: Omit<Reading, 'source'>) =>
    readSource(invocation, wish, { source, ...wanted })
  const tails = await Promise.all(sources.map((source) => read(source, { lines })))
  const bytes = Math.max(0, ...tails.map(({ length }) => length))
  const skipped = sources.map(async (source, at) => {
    const [all, last] = [await read(source, { bytes }), tails[at] ?? new Uint8Array()]
    return [placeOf(source), linesIn(all) - linesIn(last)] as const
  })
  return { bytes, skipped: new Map(await Promise.all(skipped)) }
}

function linesIn(bytes: Uint8Array): number {
  const isOpen = bytes.length > 0 && bytes.at(-1) !== NEWLINE
  return bytes.filter((byte) => byte === NEWLINE).length + (isOpen ? 1 : 0)
}

const NEWLINE = 0x0a
