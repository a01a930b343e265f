import * as path from 'node:path'
import { inspect } from 'node:util'
import { parseEventName, type FileEvent, readFileTimes, type FileTime } from './test-files.ts'
import { root } from './script.ts'

const HEARTBEAT_MS = 15_000
const DOTS_PER_LINE = 80
/** Output of a process that is kept until it is known whether one of its files fails. */
const OUTPUT_CHARS_MAX = 64 * 1024

export type Style = 'lines' | 'dots'

export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export interface Results extends Counts {
  readonly times: readonly FileTime[]
  /** One paragraph for each failure: the test, its place, and the first line of the error. */
  readonly failures: readonly string[]
}

interface ReporterOptions {
  /** The entry module of each process, with the files that it imports in turn. */
  readonly entries: ReadonlyMap<string, readonly string[]>
  readonly style: Style
  /** Only some tests run, so that a file may have none. */
  readonly isFiltered: boolean
}

/** The parts of the runner's events that are read here. */
interface EventData {
  readonly file: string
  readonly entryFile?: string
  readonly name: string
  readonly nesting: number
  readonly line?: number
  readonly column?: number
  readonly testId?: number
  readonly parentId?: number
  readonly message?: string
  readonly skip?: string | boolean
  readonly todo?: string | boolean
  readonly details?: { readonly type?: string; readonly error?: TestError }
}

interface TestError {
  readonly failureType?: string
  readonly cause?: unknown
}

/** A process: `file` is running, those of `left` come later. */
interface Job {
  left: readonly string[]
  file: RunningFile | undefined
  output: string
  isFailed: boolean
}

interface RunningFile {
  readonly name: string
  readonly startMs: number
  readonly counts: MutableCounts
  /** Names of tests by their id, with those of the suites around them. */
  readonly names: Map<number | undefined, string>
}

type MutableCounts = { -readonly [Name in keyof Counts]: Counts[Name] }

/**
 * Prints a line (with the style `dots`, a dot) for each file as it ends, failures in full at once,
 * and the output of a process only when a file in it failed.
 */
export class Reporter {
  readonly #options: ReporterOptions
  readonly #jobs: Map<string, Job>
  readonly #totals: MutableCounts = { passed: 0, failed: 0, skipped: 0 }
  readonly #times: FileTime[] = []
  readonly #failures: string[] = []
  #ended = 0

  constructor(options: ReporterOptions) {
    this.#options = options
    this.#jobs = new Map(
      [...options.entries].map(([entry, files]) => [
        entry,
        { left: files, file: undefined, output: '', isFailed: false },
      ]),
    )
  }

  async report(events: AsyncIterable<unknown>): Promise<Results> {
    const heartbeat = setInterval(() => this.#showRunning(), HEARTBEAT_MS)
    // Completions come as they happen; passes and failures in the order of the sources, which would
    // hold back what is known about a fast file until a slow one before it has ended.
    for await (const event of events) {
      // The runner's documented events; members that an event lacks are optional above.
      const { type, data } = event as { readonly type: string; readonly data: EventData }
      const job = this.#jobs.get(data.entryFile ?? data.file)
      if (job === undefined) continue
      if (type === 'test:stdout' || type === 'test:stderr')
        job.output = (job.output + (data.message ?? '')).slice(-OUTPUT_CHARS_MAX)
      else if (type === 'test:dequeue') noteStart(job, data)
      else if (type === 'test:complete') process.stdout.write(this.#noteEnd(job, data))
    }
    clearInterval(heartbeat)
    if (this.#options.style === 'dots' && this.#ended % DOTS_PER_LINE !== 0)
      process.stdout.write('\n')
    return this.results()
  }

  /** With the times that the processes measured; those of one that was killed are known here. */
  results(): Results {
    const measured = Object.assign({}, ...[...this.#options.entries.keys()].map(readFileTimes))
    const times = this.#times.map((time) => ({ ...time, ...measured[time.file] }))
    return { ...this.#totals, times, failures: this.#failures }
  }

  /** Returns the text to print, as the methods below do. */
  #noteEnd(job: Job, data: EventData): string {
    const error = data.details?.error
    if (isProcess(data)) return this.#endProcess(job, data.file, error)
    const event = parseEventName(data.name)
    if (event === undefined) return job.file === undefined ? '' : this.#endTest(job.file, data)
    if (event.kind === 'end') return this.#endFile(job, error)
    return event.kind === 'leak' ? formatLeak(event) : ''
  }

  /** Counts the test; the text to print is empty unless it failed. */
  #endTest(file: RunningFile, data: EventData): string {
    const error = data.details?.error
    const isInside = error?.failureType === 'subtestsFailed'
    // A suite is no test; it counts only when it fails by itself, for instance in a hook.
    if (data.details?.type === 'suite' && (error === undefined || isInside)) return ''
    const outcome = outcomeOf(data)
    file.counts[outcome] += 1
    this.#totals[outcome] += 1
    if (outcome !== 'failed' || isInside) return ''
    const place = `${path.relative(root, data.file)}:${data.line}:${data.column}`
    return this.#noteFailure(file.names.get(data.testId) ?? data.name, place, error)
  }

  /** A file that fails without a failed test was not imported, failed later, or has no test. */
  #endFile(job: Job, error: unknown): string {
    if (job.file === undefined) return ''
    const { name, counts, startMs } = job.file
    job.file = undefined
    this.#ended += 1
    const count = counts.passed + counts.failed + counts.skipped
    const isEmpty = count === 0 && !this.#options.isFiltered
    const fault = error ?? (isEmpty ? 'The file registers no test.' : undefined)
    const failedItself = fault !== undefined && counts.failed === 0
    if (failedItself) {
      counts.failed += 1
      this.#totals.failed += 1
    }
    const isFailed = counts.failed > 0
    job.isFailed ||= isFailed
    const wallMs = performance.now() - startMs
    this.#times.push({ file: name, wallMs, cpuMs: 0 })
    const failure = failedItself ? this.#noteFailure('the file itself', name, fault) : ''
    if (this.#options.style === 'dots')
      return failure + (isFailed ? '✗' : '.') + (this.#ended % DOTS_PER_LINE === 0 ? '\n' : '')
    if (count === 0 && !isFailed) return failure
    const tests = `${count} ${count === 1 ? 'test' : 'tests'}`
    const took = `${(wallMs / 1000).toFixed(1)} s`
    return `${failure}${isFailed ? '✗' : '✓'} ${name}  ${tests}, ${took}\n`
  }

  /** Files that the process did not come to have failed, as has one that fails after its tests. */
  #endProcess(job: Job, entry: string, error: unknown): string {
    this.#jobs.delete(entry)
    const parts: string[] = []
    const unfinished = job.file === undefined ? job.left : [job.file.name, ...job.left]
    for (const name of unfinished) {
      if (job.file?.name !== name) job.file = aFile(name)
      parts.push(this.#endFile(job, 'The process exited before the tests of the file had ended.'))
    }
    if (error !== undefined && !job.isFailed) {
      this.#totals.failed += 1
      job.isFailed = true
      const files = this.#options.entries.get(entry) ?? []
      parts.push(this.#noteFailure('the process, after its last test', files.join(', '), error))
    }
    if (job.isFailed && job.output !== '')
      parts.push(`  output of the process:\n${indent(job.output)}\n`)
    return parts.join('')
  }

  /** Returns the failure in full; its first lines are repeated at the end of the run. */
  #noteFailure(name: string, place: string, error: unknown): string {
    const text = errorText(error)
    this.#failures.push(`✗ ${name}\n  ${place}\n${indent(text.split('\n', 3).join('\n'))}`)
    return `\n✗ ${name}\n  ${place}\n${indent(text)}\n\n`
  }

  /** Printed at intervals, so that a long run is seen to be alive. */
  #showRunning(): void {
    const files = [...this.#jobs.values()].flatMap(({ file }) => (file ? [file.name] : []))
    if (files.length === 0) return
    process.stdout.write(`… ${this.#totals.passed} passed so far; running ${files.join(', ')}\n`)
  }
}

function aFile(name: string): RunningFile {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  return { name, startMs: performance.now(), counts, names: new Map() }
}

/** The runner wraps each process in a test of its own. */
function isProcess(data: EventData): boolean {
  return data.entryFile === undefined && data.nesting === 0
}

function noteStart(job: Job, data: EventData): void {
  if (isProcess(data)) return
  const event = parseEventName(data.name)
  if (event?.kind === 'begin') {
    job.left = job.left.filter((name) => name !== event.file)
    job.file = aFile(event.file)
  }
  if (event !== undefined || job.file === undefined) return
  const { names } = job.file
  const above = names.get(data.parentId)
  names.set(data.testId, above === undefined ? data.name : `${above} › ${data.name}`)
}

function outcomeOf({ skip, todo, details }: EventData): keyof Counts {
  if (skip !== undefined || todo !== undefined) return 'skipped'
  return details?.error === undefined ? 'passed' : 'failed'
}

function errorText(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : cause
  return typeof text === 'string' ? text : inspect(text)
}

function formatLeak({ file, types = [] }: FileEvent): string {
  const name = file === '' ? 'Some test file' : file
  return `! ${name} left resources open (${types.join(', ')}); its process was ended.\n`
}

function indent(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, '    ')
}
