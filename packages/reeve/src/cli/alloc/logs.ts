import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { taskWriter } from '../output/printable.ts'
import { copyFrames, gatheredFrames, type WriteBytes } from './copy.ts'
import { callFor, chosenAllocation, chosenTask, type AllocationStub } from './find-allocation.ts'
import { lastLines } from './tail.ts'

const TYPES = ['stdout', 'stderr'] as const
type LogType = (typeof TYPES)[number]

interface LogName {
  readonly allocation: AllocationStub
  readonly task: string
  readonly type: LogType
}

/** What a task wrote: its output to ours, its errors to ours. */
export async function runAllocLogs(invocation: Invocation): Promise<number> {
  const { args, flags } = invocation
  const rest = flags.text('job') === undefined ? args.slice(1) : args
  const allocation = await chosenAllocation(invocation, args[0])
  const task = chosenTask(allocation, flags.text('task') ?? rest[0])
  const asked = TYPES.filter((type) => flags.has(type))
  const logs = (asked.length === 0 ? TYPES : asked).map((type) => ({ allocation, task, type }))
  await noteIfDisabled(invocation, allocation, task)
  if (flags.has('follow')) await followAll(invocation, logs)
  else for (const log of logs) await copyLog(invocation, log, invocation.signal)
  return EXIT_CODES.ok
}

/** Nothing will ever come: without a word, who waits takes the task for a silent one. */
async function noteIfDisabled(
  { client, output }: Invocation,
  allocation: AllocationStub,
  task: string,
): Promise<void> {
  const { data } = await client.v1.readAllocation(callFor(allocation))
  const { TaskGroups } = data.Job
  const tasks = TaskGroups.flatMap((group) => group.Tasks)
  if (tasks.some(({ Name, LogConfig }) => Name === task && LogConfig.Disabled))
    output.note(`Its job keeps no logs of task "${task}": logs { disabled = true }.`)
}

/** When one of them fails nobody would see the other one end. */
async function followAll(invocation: Invocation, logs: readonly LogName[]): Promise<void> {
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

async function copyLog(invocation: Invocation, log: LogName, signal: AbortSignal): Promise<void> {
  const { flags, host, output } = invocation
  const lines = flags.whole('tail')
  const bytes = flags.whole('bytes')
  const write: WriteBytes = taskWriter(host, log.type)
  const frames = (wish: LogWish) => framesOf(invocation, log, { ...wish, signal })
  const readTail = (count: number) => gatheredFrames(frames({ fromEnd: count, follow: false }))
  const follow = flags.has('follow')
  if (lines === undefined) {
    const note = (what: string): void => output.note(what)
    return await copyFrames(frames({ fromEnd: bytes, follow }), write, note)
  }
  const tail = await lastLines(lines, readTail)
  if (!follow) return await write(tail)
  await copyFrames(frames({ fromEnd: tail.length, follow }), write, (what) => output.note(what))
}

interface LogWish {
  /** Undefined begins at the start. */
  readonly fromEnd: number | undefined
  readonly follow: boolean
  readonly signal?: AbortSignal
}

function framesOf(
  { client }: Invocation,
  { allocation, task, type }: LogName,
  { fromEnd, follow, signal }: LogWish,
) {
  const { params, query } = callFor(allocation)
  const where = fromEnd === undefined ? {} : { origin: 'end', offset: fromEnd }
  return client.frames('streamLogs', {
    params,
    query: { ...query, ...where, task, type, follow },
    signal,
  })
}
