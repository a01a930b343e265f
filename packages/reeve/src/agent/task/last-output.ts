import { LastOutput, LOG_TYPES, type CheckResult, type LogType } from '@reeve/contract'
import { Compile } from 'typebox/compile'
import { RotatedLog, type LogOffset } from '../remote/follow-log.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { SafeDirectory } from '../store/safe-directory.ts'
import { isMissing } from '../store/state-file.ts'
import type { TaskHook, TaskHookContext } from './task-hook.ts'

/** Log positions at the start of the task. */
type LogStartOffsets = Readonly<Record<LogType, LogOffset | undefined>>

/**
 * Saves the last output of a task and its failed checks when it exits, because the log continues
 * with the next attempt and is rotated. The saved data is removed with the allocation directory.
 */
export function lastOutputHook(
  failedChecksOf: (allocationId: string) => readonly CheckResult[],
): () => TaskHook {
  return () => {
    let startOffsets: LogStartOffsets | undefined
    return {
      name: 'last-output',
      runsOnce: false,
      applies: ({ workspace }) => workspace.hasFiles,
      async beforeStart(context) {
        startOffsets = await currentLogEnds(allocationRoot(context), context.task.Name)
      },
      async atExit(context) {
        const { assignment, task, paths } = context
        const output = await readLatestOutput(allocationRoot(context), task.Name, startOffsets)
        const failedChecks = failedChecksOf(assignment.allocation.ID)
        const taskChecks = failedChecks.filter(({ Task = '' }) => Task === '' || Task === task.Name)
        await saveOutput(paths.taskDir, { ...output, Checks: taskChecks })
      },
    }
  }
}

function allocationRoot({ workspace, assignment }: TaskHookContext): string {
  return workspace.allocationDir(assignment.allocation.ID)
}

/** Output of the task since its start: the end of stderr, otherwise of stdout. */
export async function readLatestOutput(
  root: string,
  task: string,
  startOffsets?: LogStartOffsets,
): Promise<Pick<LastOutput, 'Type' | 'Text'>> {
  for (const type of ['stderr', 'stdout'] as const) {
    const text = await readTail(new RotatedLog(root, task, type), startOffsets?.[type])
    if (text.trim() !== '') return { Type: type, Text: text }
  }
  return { Type: null, Text: '' }
}

/** Saved output of the latest ended run; undefined if there is none. */
export async function readSavedOutput(taskDir: string): Promise<LastOutput | undefined> {
  const bytes = await inPrivateDirectory(taskDir, (directory) =>
    directory.readFile(OUTPUT_FILE, OUTPUT_FILE_BYTES_MAX),
  )
  if (bytes === undefined) return undefined
  const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
  // A task may have placed its own file at this path.
  return lastOutputChecker.Check(value) ? value : undefined
}

const lastOutputChecker = Compile(LastOutput)
const OUTPUT_FILE = 'last-output.json'
/** A byte of output may take six characters in JSON. */
const OUTPUT_FILE_BYTES_MAX = 256 * 1024

async function saveOutput(taskDir: string, output: LastOutput): Promise<void> {
  const bytes = new TextEncoder().encode(JSON.stringify(output))
  await inPrivateDirectory(taskDir, (directory) =>
    directory.writeFile(OUTPUT_FILE, bytes, { mode: 0o600 }),
  )
}

/** Undefined if the task has no directory. */
async function inPrivateDirectory<T>(
  taskDir: string,
  work: (directory: SafeDirectory) => Promise<T>,
): Promise<T | undefined> {
  try {
    const taskDirectory = await SafeDirectory.open(taskDir)
    try {
      return await taskDirectory.withSubdirectory({ parts: ['private'] }, work)
    } finally {
      await taskDirectory.close()
    }
  } catch (thrown) {
    if (isMissing(thrown)) return undefined
    throw thrown
  }
}

async function currentLogEnds(root: string, task: string): Promise<LogStartOffsets> {
  const [stdout, stderr] = await Promise.all(
    LOG_TYPES.map((type) => new RotatedLog(root, task, type).seek(0, 'end')),
  )
  return { stdout, stderr }
}

/** Reads the last bytes, beginning at a full line if possible. */
async function readTail(log: RotatedLog, start: LogOffset | undefined): Promise<string> {
  const chunks: Buffer[] = []
  let remainingBytes: number = AGENT_LIMITS.lastOutputBytes
  let isTruncated = false
  for (const number of (await log.fileNumbers()).toReversed()) {
    if (remainingBytes === 0 || (start !== undefined && number < start.number)) break
    const file = await log.open(number)
    if (file === undefined) continue
    try {
      const startOffset = number === start?.number ? start.offset : 0
      const readFrom = Math.max(startOffset, file.stats.size - remainingBytes)
      if (readFrom >= file.stats.size || !file.stats.isFile()) continue
      isTruncated = readFrom > startOffset
      const buffer = Buffer.alloc(file.stats.size - readFrom)
      const { bytesRead } = await file.handle.read(buffer, 0, buffer.length, readFrom)
      chunks.unshift(buffer.subarray(0, bytesRead))
      remainingBytes -= bytesRead
    } finally {
      await file.handle.close()
    }
  }
  const text = Buffer.concat(chunks).toString('utf8')
  const firstNewline = text.indexOf('\n')
  return isTruncated && firstNewline >= 0 && firstNewline < text.length - 1
    ? text.slice(firstNewline + 1)
    : text
}
