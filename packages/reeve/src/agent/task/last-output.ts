import { LastOutput, LOG_TYPES, type CheckResult, type LogType } from '@reeve/contract'
import { Compile } from 'typebox/compile'
import { LogFiles, type LogPlace } from '../remote/log-files.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { Beneath } from '../store/beneath.ts'
import { isMissing } from '../store/state-file.ts'
import type { TaskHook, TaskHookContext } from './task-hook.ts'

/** Where the output of a task ended when it was started; per log. */
type Starts = Readonly<Record<LogType, LogPlace | undefined>>

/**
 * Keeps what a task wrote last, and which checks failed, when it ends: its log goes on with the
 * next attempt and is rotated. What is kept goes with the directory of the allocation.
 */
export function lastOutputHook(
  failedChecksOf: (allocationId: string) => readonly CheckResult[],
): () => TaskHook {
  return () => {
    let starts: Starts | undefined
    return {
      name: 'last-output',
      once: false,
      applies: ({ workspace }) => workspace.hasFiles,
      async beforeStart(context) {
        starts = await endsOf(rootOf(context), context.task.Name)
      },
      async atExit(context) {
        const { assignment, task, paths } = context
        const output = await readOutput(rootOf(context), task.Name, starts)
        const failed = failedChecksOf(assignment.allocation.ID)
        const own = failed.filter(({ Task = '' }) => Task === '' || Task === task.Name)
        await keep(paths.taskDir, { ...output, Checks: own })
      },
    }
  }
}

function rootOf({ workspace, assignment }: TaskHookContext): string {
  return workspace.allocationDir(assignment.allocation.ID)
}

/** What the task has written since it was started: the end of stderr, or of stdout. */
export async function readOutput(
  root: string,
  task: string,
  starts?: Starts,
): Promise<Pick<LastOutput, 'Type' | 'Text'>> {
  for (const type of ['stderr', 'stdout'] as const) {
    const text = await readTail(new LogFiles(root, task, type), starts?.[type])
    if (text.trim() !== '') return { Type: type, Text: text }
  }
  return { Type: null, Text: '' }
}

/** What was kept of the run of the task that ended last; undefined when nothing was. */
export async function readKept(taskDir: string): Promise<LastOutput | undefined> {
  const bytes = await inPrivate(taskDir, (directory) => directory.read(FILE, FILE_BYTES_MAX))
  if (bytes === undefined) return undefined
  const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
  // A task may have put a file of its own in this place.
  return checker.Check(value) ? value : undefined
}

const checker = Compile(LastOutput)
const FILE = 'last-output.json'
/** Each byte of the output may be six characters in JSON. */
const FILE_BYTES_MAX = 256 * 1024

async function keep(taskDir: string, output: LastOutput): Promise<void> {
  const bytes = new TextEncoder().encode(JSON.stringify(output))
  await inPrivate(taskDir, (directory) => directory.write(FILE, bytes, { mode: 0o600 }))
}

/** Undefined where the task has no directory. */
async function inPrivate<T>(
  taskDir: string,
  work: (directory: Beneath) => Promise<T>,
): Promise<T | undefined> {
  try {
    const root = await Beneath.open(taskDir)
    try {
      return await root.within({ parts: ['private'] }, work)
    } finally {
      await root.close()
    }
  } catch (thrown) {
    if (isMissing(thrown)) return undefined
    throw thrown
  }
}

async function endsOf(root: string, task: string): Promise<Starts> {
  const [stdout, stderr] = await Promise.all(
    LOG_TYPES.map((type) => new LogFiles(root, task, type).find(0, 'end')),
  )
  return { stdout, stderr }
}

/** The last bytes, in whole lines where there is one. */
async function readTail(log: LogFiles, start: LogPlace | undefined): Promise<string> {
  const pieces: Buffer[] = []
  let left: number = AGENT_LIMITS.lastOutputBytes
  let isCut = false
  for (const number of (await log.numbers()).toReversed()) {
    if (left === 0 || (start !== undefined && number < start.number)) break
    const file = await log.open(number)
    if (file === undefined) continue
    try {
      const floor = number === start?.number ? start.offset : 0
      const from = Math.max(floor, file.stats.size - left)
      if (from >= file.stats.size || !file.stats.isFile()) continue
      isCut = from > floor
      const buffer = Buffer.alloc(file.stats.size - from)
      const { bytesRead } = await file.handle.read(buffer, 0, buffer.length, from)
      pieces.unshift(buffer.subarray(0, bytesRead))
      left -= bytesRead
    } finally {
      await file.handle.close()
    }
  }
  const text = Buffer.concat(pieces).toString('utf8')
  const firstEnd = text.indexOf('\n')
  return isCut && firstEnd >= 0 && firstEnd < text.length - 1 ? text.slice(firstEnd + 1) : text
}
