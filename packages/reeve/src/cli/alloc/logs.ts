import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../errors.ts'
import { createOutputWriter } from '../output/printable.ts'
import { copyFrames, collectFrames, type WriteBytes, lastLines } from './streams.ts'
import {
  allocationRequest,
  resolveAllocation,
  resolveTask,
  type AllocationStub,
} from './find-allocation.ts'

const TYPES = ['stdout', 'stderr'] as const
type LogType = (typeof TYPES)[number]

interface LogSource {
  readonly allocation: AllocationStub
  readonly task: string
  readonly type: LogType
}

/** `alloc logs`: prints the output of a task to standard output, its errors to standard error. */
export async function runAllocLogs(invocation: CommandContext): Promise<number> {
  const { args, flags } = invocation
  const rest = flags.string('job') === undefined ? args.slice(1) : args
  const allocation = await resolveAllocation(invocation, args[0])
  const task = resolveTask(allocation, flags.string('task') ?? rest[0])
  const requestedTypes = TYPES.filter((type) => flags.has(type))
  const logs = (requestedTypes.length === 0 ? TYPES : requestedTypes).map((type) => ({
    allocation,
    task,
    type,
  }))
  await noticeIfLogsDisabled(invocation, allocation, task)
  if (flags.has('follow')) await followLogs(invocation, logs)
  else for (const log of logs) await copyLog(invocation, log, invocation.signal)
  return EXIT_CODES.ok
}

/** Prints a notice if the task has no logs: otherwise following them would hang silently. */
async function noticeIfLogsDisabled(
  { client, output }: CommandContext,
  allocation: AllocationStub,
  task: string,
): Promise<void> {
  const { data } = await client.v1.readAllocation(allocationRequest(allocation))
  const { TaskGroups } = data.Job
  const tasks = TaskGroups.flatMap((group) => group.Tasks)
  if (tasks.some(({ Name, LogConfig }) => Name === task && LogConfig.Disabled))
    output.printNotice(`Its job keeps no logs of task "${task}": logs { disabled = true }.`)
}

/** Follows all logs; the failure of one stream stops the others. */
async function followLogs(invocation: CommandContext, logs: readonly LogSource[]): Promise<void> {
  const failed = new AbortController()
  const signal = AbortSignal.any([invocation.signal, failed.signal])
  await Promise.all(
    logs.map((log) =>
      copyLog(invocation, log, signal).catch((thrown: unknown) => {
        failed.abort(thrown)
        throw thrown
      }),
    ),
  )
}

async function copyLog(
  invocation: CommandContext,
  log: LogSource,
  signal: AbortSignal,
): Promise<void> {
  const { flags, host, output } = invocation
  const lines = flags.integer('tail')
  const bytes = flags.integer('bytes')
  const write: WriteBytes = createOutputWriter(host, log.type)
  const frames = (wish: LogRange) => openLogFrames(invocation, log, { ...wish, signal })
  const readTail = (count: number) => collectFrames(frames({ fromEnd: count, follow: false }))
  const follow = flags.has('follow')
  if (lines === undefined) {
    const note = (what: string): void => output.printNotice(what)
    return await copyFrames(frames({ fromEnd: bytes, follow }), write, note)
  }
  const tail = await lastLines(lines, readTail)
  if (!follow) return await write(tail)
  await copyFrames(frames({ fromEnd: tail.length, follow }), write, (what) =>
    output.printNotice(what),
  )
}

interface LogRange {
  /** Bytes before the end at which to start; undefined starts at the beginning. */
  readonly fromEnd: number | undefined
  readonly follow: boolean
  readonly signal?: AbortSignal
}

function openLogFrames(
  { client }: CommandContext,
  { allocation, task, type }: LogSource,
  { fromEnd, follow, signal }: LogRange,
) {
  const { params, query } = allocationRequest(allocation)
  const where = fromEnd === undefined ? {} : { origin: 'end', offset: fromEnd }
  return client.frames('streamLogs', {
    params,
    query: { ...query, ...where, task, type, follow },
    signal,
  })
}
