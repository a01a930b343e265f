import type { AllocationStub } from '@reeve/contract'
import { parseSelector } from '../alloc/find-allocation.ts'
import { collectFrames, lastLines, startedTasks } from '../alloc/streams.ts'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { createOutputWriter } from '../output/printable.ts'
import { shortenId } from '../output/format.ts'
import { suggestCommand } from '../plan/suggest-command.ts'
import { listChildren, isParent, type JobStub, findJob } from './find-job.ts'

const TYPES = ['stdout', 'stderr'] as const
type LogType = (typeof TYPES)[number]

interface LogSelection {
  readonly jobId: string
  readonly namespace: string
  readonly group: string | undefined
  /** The index in the name of the allocation. */
  readonly index: number | undefined
  readonly task: string | undefined
  readonly types: readonly LogType[]
}

/** One output stream of a task. */
interface Source {
  readonly allocation: AllocationStub
  readonly task: string
  readonly type: LogType
}

/**
 * `job logs`: prints the logs of a job, one allocation after another, or merged with `--follow`.
 */
export async function runJobLogs(invocation: CommandContext): Promise<number> {
  const { args, flags } = invocation
  const { job, group, index } = await findSelected(invocation, args[0] ?? '')
  const { ID, Namespace } = await resolveLogJob(invocation, job)
  if (flags.string('task') !== undefined && args[1] !== undefined) {
    throw new UsageError('Name the task once: as an argument, or with --task.')
  }
  const requestedTypes = TYPES.filter((type) => flags.has(type))
  const selection: LogSelection = {
    jobId: ID,
    namespace: Namespace,
    group: flags.string('group') ?? group,
    index: flags.integer('index') ?? index,
    task: flags.string('task') ?? args[1],
    types: requestedTypes.length === 0 ? TYPES : requestedTypes,
  }
  const selected = await selectSources(invocation, selection)
  if (flags.has('follow')) await followLogs(invocation, selection, selected)
  else await printAll(invocation, selection, selected.sources)
  return EXIT_CODES.ok
}

/** Finds the job of `JOB`, `JOB[INDEX]`, `JOB/GROUP` or `JOB/GROUP[INDEX]`. */
async function findSelected(invocation: CommandContext, text: string) {
  const [whole, part] = parseSelector(text)
  const { job: id, group, index } = whole ?? { job: text, group: undefined, index: undefined }
  try {
    return { job: await findJob(invocation, id), group, index }
  } catch (thrown) {
    const isMissing = thrown instanceof CommandError && thrown.code === EXIT_CODES.missing
    if (!isMissing || part === undefined) throw thrown
    return { ...part, job: await findJob(invocation, part.job) }
  }
}

/** Returns the job, or the newest child of a periodic or parameterized job. */
async function resolveLogJob(invocation: CommandContext, job: JobStub): Promise<JobStub> {
  if (!isParent(job)) return job
  const [newest] = await listChildren(invocation, job)
  if (newest === undefined) {
    throw new CommandError(`Job "${job.ID}" has no child jobs yet, so there are no logs.`, {
      code: EXIT_CODES.missing,
    })
  }
  invocation.output.printNotice(`Logs of the newest child job, "${newest.ID}":`)
  return newest
}

interface SelectedSources {
  readonly sources: readonly Source[]
  /** Allocations that had terminated before and are not shown. */
  readonly hiddenAllocations: ReadonlySet<string>
}

async function selectSources(
  invocation: CommandContext,
  selection: LogSelection,
): Promise<SelectedSources> {
  const all = await allocationsOf(invocation, selection)
  const current = all.filter(isCurrent)
  const newestIndex = Math.max(0, ...all.map(({ CreateIndex }) => CreateIndex))
  // For a job that has ended, the allocations that were placed last.
  const last = all.filter(({ CreateIndex }) => CreateIndex === newestIndex)
  const isAll = invocation.flags.has('all-allocs')
  const allocations = isAll ? all : current.length > 0 ? withCompleted(all, current) : last
  const sources = allocations.flatMap((allocation) =>
    startedTasks(allocation)
      .filter((task) => selection.task === undefined || task === selection.task)
      .flatMap((task) => selection.types.map((type) => ({ allocation, task, type }))),
  )
  // With --follow, logs may appear later.
  if (sources.length === 0 && !invocation.flags.has('follow')) {
    throw noLogsError(invocation, selection, all)
  }
  const hidden = all.filter((one) => !allocations.includes(one)).map(({ ID }) => ID)
  return { sources, hiddenAllocations: new Set(hidden) }
}

/**
 * Adds completed allocations that were placed with the current ones: in batch jobs, some complete
 * while others still run.
 */
function withCompleted(
  all: readonly AllocationStub[],
  current: readonly AllocationStub[],
): readonly AllocationStub[] {
  const since = Math.min(...current.map(({ CreateIndex }) => CreateIndex))
  return all.filter(
    (one) => current.includes(one) || (isCompleted(one) && one.CreateIndex >= since),
  )
}

function isCompleted({ DesiredStatus, ClientStatus }: AllocationStub): boolean {
  return DesiredStatus === 'run' && ClientStatus === 'complete'
}

function isCurrent({ DesiredStatus, ClientStatus }: AllocationStub): boolean {
  return DesiredStatus === 'run' && (ClientStatus === 'running' || ClientStatus === 'pending')
}

async function allocationsOf(
  { client }: CommandContext,
  { jobId, namespace, group, index }: LogSelection,
): Promise<readonly AllocationStub[]> {
  const { data } = await client.v1.listJobAllocations({
    params: { job_id: jobId },
    query: { namespace },
  })
  return data
    .filter(({ TaskGroup }) => group === undefined || TaskGroup === group)
    .filter(({ Name }) => index === undefined || Name.endsWith(`[${index}]`))
    .toSorted((a, b) => a.CreateIndex - b.CreateIndex || (a.ID < b.ID ? -1 : 1))
}

function noLogsError(
  invocation: CommandContext,
  { jobId, namespace, group, task }: LogSelection,
  all: readonly AllocationStub[],
): CommandError {
  const known = [...new Set(all.flatMap(({ TaskStates }) => Object.keys(TaskStates ?? {})))]
  if (task !== undefined && known.length > 0 && !known.includes(task)) {
    return new CommandError(`Job "${jobId}" has no task "${task}".`, {
      code: EXIT_CODES.missing,
      hint: `It has ${known.toSorted().join(', ')}.`,
    })
  }
  const where = group === undefined ? '' : ` in group "${group}"`
  const newest = all.at(-1)
  // A placed allocation waits or failed on its node, which only its events show.
  const words =
    newest === undefined ? ['job', 'explain', jobId] : ['alloc', 'status', shortenId(newest.ID)]
  return new CommandError(`No task of job "${jobId}"${where} has started yet.`, {
    code: EXIT_CODES.missing,
    hint: `To see why: ${suggestCommand(invocation, words, namespace)}`,
  })
}

async function printAll(
  invocation: CommandContext,
  wish: LogSelection,
  sources: readonly Source[],
): Promise<void> {
  const { flags, host } = invocation
  const lines = flags.integer('tail')
  const isPrefixed = countSources(sources) > 1
  for (const source of sources) {
    const bytes = await readSource(invocation, wish, { source, lines })
    const text = isPrefixed ? addLinePrefix(bytes, source) : bytes
    await createOutputWriter(host, source.type)(text)
  }
}

/** Counts allocations and tasks; with more than one, lines get a prefix. */
function countSources(sources: readonly Source[]): number {
  return new Set(sources.map(sourcePrefix)).size
}

/** Returns the prefix of lines in merged output. */
function sourcePrefix({ allocation, task }: Source): string {
  return `${shortenId(allocation.ID)} ${task}`
}

interface ReadRange {
  readonly source: Source
  /** Only the last lines. */
  readonly lines?: number | undefined
  /** Only the last bytes. */
  readonly bytes?: number
}

async function readSource(
  { client, signal }: CommandContext,
  { namespace }: LogSelection,
  { source, lines, bytes }: ReadRange,
): Promise<Uint8Array> {
  const { allocation, task, type } = source
  const read = (fromEnd: number | undefined) => {
    const where = fromEnd === undefined ? {} : { origin: 'end', offset: fromEnd }
    const query = { namespace, task, type, follow: false, ...where }
    const params = { alloc_id: allocation.ID }
    return collectFrames(client.frames('streamLogs', { params, query, signal }))
  }
  return lines === undefined ? await read(bytes) : await lastLines(lines, read)
}

function addLinePrefix(bytes: Uint8Array, source: Source): Uint8Array {
  const text = new TextDecoder().decode(bytes)
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const named = lines.map((line) => `${sourcePrefix(source)}: ${line}\n`)
  return new TextEncoder().encode(named.join(''))
}

/** Follows the logs, including those of new allocations, until the job has ended. */
async function followLogs(
  invocation: CommandContext,
  wish: LogSelection,
  chosen: SelectedSources,
): Promise<void> {
  const lines = invocation.flags.integer('tail')
  const [only] = wish.types.length === 1 ? wish.types : []
  if (lines === undefined) return await followMerged(invocation, wish, { chosen, type: only })
  // Standard output and error are followed separately, because each has its own last lines.
  const endings = new AbortController()
  const signal = AbortSignal.any([invocation.signal, endings.signal])
  await Promise.all(
    wish.types.map(async (type) => {
      const sources = chosen.sources.filter((source) => source.type === type)
      const tail = await readMergedTail(invocation, wish, { sources, lines })
      try {
        await followMerged({ ...invocation, signal }, wish, { chosen, type, tail })
      } catch (thrown) {
        endings.abort()
        throw thrown
      }
    }),
  )
}

interface FollowOptions {
  readonly chosen: SelectedSources
  /** Undefined for both. */
  readonly type: LogType | undefined
  /** Undefined starts at the beginning. */
  readonly tail?: MergedTail
}

async function followMerged(
  invocation: CommandContext,
  wish: LogSelection,
  { chosen, type, tail }: FollowOptions,
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
  const shown = new JobLogFilter({
    keepsPrefix: countSources(chosen.sources) > 1,
    linesToSkip: tail?.skipped ?? new Map(),
    isShown: async (short) => {
      const all = await allocationsOf(invocation, wish)
      return all.some(({ ID }) => shortenId(ID) === short && !chosen.hiddenAllocations.has(ID))
    },
  })
  const write = createOutputWriter(host)
  for await (const chunk of data) {
    const text = await shown.add(chunk)
    if (text !== '') await write(new TextEncoder().encode(text))
  }
}

/** A common offset from the end for all logs, and the lines to skip of each. */
interface MergedTail {
  readonly bytes: number
  readonly skipped: ReadonlyMap<string, number>
}

async function readMergedTail(
  invocation: CommandContext,
  wish: LogSelection,
  { sources, lines }: { readonly sources: readonly Source[]; readonly lines: number },
): Promise<MergedTail> {
  const read = (source: Source, wanted: Omit<ReadRange, 'source'>) =>
    readSource(invocation, wish, { source, ...wanted })
  const tails = await Promise.all(sources.map((source) => read(source, { lines })))
  const bytes = Math.max(0, ...tails.map(({ length }) => length))
  const skipped = sources.map(async (source, at) => {
    const [all, last] = [await read(source, { bytes }), tails[at] ?? new Uint8Array()]
    return [sourcePrefix(source), countLines(all) - countLines(last)] as const
  })
  return { bytes, skipped: new Map(await Promise.all(skipped)) }
}

function countLines(bytes: Uint8Array): number {
  const isOpen = bytes.length > 0 && bytes.at(-1) !== NEWLINE
  return bytes.filter((byte) => byte === NEWLINE).length + (isOpen ? 1 : 0)
}

const NEWLINE = 0x0a

interface JobLogOptions {
  /** Keep the prefix of lines. Set automatically when a second task appears. */
  readonly keepsPrefix: boolean
  /** Lines to skip per allocation and task. */
  readonly linesToSkip?: ReadonlyMap<string, number>
  /** Whether to print lines of the allocation with this short ID; called once per allocation. */
  readonly isShown: (shortId: string) => Promise<boolean>
}

const PREFIX = /^([0-9a-f]{8}) (\S+): /

/** Filters the merged log of a job, in which each line starts with its allocation and task. */
export class JobLogFilter {
  readonly #options: JobLogOptions
  readonly #decoder = new TextDecoder()
  readonly #isShownById = new Map<string, boolean>()
  readonly #sources = new Set<string>()
  readonly #skipped: Map<string, number>
  #incompleteLine = ''

  constructor(options: JobLogOptions) {
    this.#options = options
    this.#skipped = new Map(options.linesToSkip)
  }

  /** Returns the lines to print of a chunk. An incomplete line is kept for the next chunk. */
  async add(bytes: Uint8Array): Promise<string> {
    const text = this.#incompleteLine + this.#decoder.decode(bytes, { stream: true })
    const lines = text.split('\n')
    this.#incompleteLine = lines.pop() ?? ''
    let shown = ''
    for (const line of lines) shown += await this.#filterLine(line)
    return shown
  }

  async #filterLine(line: string): Promise<string> {
    const [prefix, short, task] = PREFIX.exec(line) ?? []
    // A message of the server about a log that it cannot read.
    if (prefix === undefined || short === undefined) return `${line}\n`
    const isShown = this.#isShownById.get(short) ?? (await this.#options.isShown(short))
    this.#isShownById.set(short, isShown)
    const place = `${short} ${task}`
    if (!isShown || this.#isSkipped(place)) return ''
    this.#sources.add(place)
    const isKept = this.#options.keepsPrefix || this.#sources.size > 1
    return `${isKept ? line : line.slice(prefix.length)}\n`
  }

  #isSkipped(place: string): boolean {
    const left = this.#skipped.get(place) ?? 0
    if (left > 0) this.#skipped.set(place, left - 1)
    return left > 0
  }
}
