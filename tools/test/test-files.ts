import { readFileSync, writeFileSync } from 'node:fs'

/**
 * A process that runs test files tells where a file begins and ends by tests of its own, because
 * the events of the runner name the place of a test's call, which may be in a shared suite.
 */
const EVENT_PREFIX = '\u0001reeve'

/** A name pattern for the events themselves, so that a filter by name keeps them. */
export const EVENT_PATTERN = `^${EVENT_PREFIX}`

export function beginEventName(file: string): string {
  return `${EVENT_PREFIX} begin ${file}`
}

export function endEventName(file: string): string {
  return `${EVENT_PREFIX} end ${file}`
}

/** The types of resources that the tests of a file left open; the file is '' when unknown. */
export function leakEventName(file: string, types: readonly string[]): string {
  return `${EVENT_PREFIX} leak ${types.join()} ${file}`
}

export interface FileEvent {
  /** `begin`, `end` or `leak`. */
  readonly kind: string
  readonly file: string
  readonly types?: readonly string[]
}

/** The event that a test stands for, or undefined for any other test. */
export function parseEventName(name: string): FileEvent | undefined {
  if (!name.startsWith(`${EVENT_PREFIX} `)) return undefined
  const [kind = '', ...rest] = name.slice(EVENT_PREFIX.length + 1).split(' ')
  if (kind !== 'leak') return { kind, file: rest.join(' ') }
  return { kind, types: (rest[0] ?? '').split(','), file: rest.slice(1).join(' ') }
}

/** How many of the slowest files are listed at the end of a run. */
const LISTED_MAX = 20
/** Where Linux gives processor time; always a hundredth of a second there. */
const STAT = '/proc/self/stat'
const TICK_MS = 10

export interface FileTime {
  readonly file: string
  readonly wallMs: number
  readonly cpuMs: number
}

type Times = Omit<FileTime, 'file'>

/**
 * Processor time of this process in milliseconds, on Linux with that of the programs that it has
 * started and that have ended.
 */
function readCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000 + endedProgramsMs()
}

function endedProgramsMs(): number {
  try {
    // The name of the program, in brackets, may hold anything.
    const fields = readFileSync(STAT, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return (Number(fields[13]) + Number(fields[14])) * TICK_MS
  } catch {
    // Not Linux: the programs are not counted.
    return 0
  }
}

/**
 * Notes the times of each file that a process runs, and writes them down at the exit. The runner
 * learns of the events of a process only when that has a moment to send them.
 */
export class FileTimes {
  readonly #times: Record<string, Times> = {}
  #last: Times = { wallMs: performance.now(), cpuMs: 0 }
  #file: string | undefined

  constructor(entry: string) {
    process.once('exit', () => {
      // Time of hooks after the last test belongs to its file.
      if (this.#file !== undefined) this.note(this.#file)
      writeFileSync(timesFileOf(entry), JSON.stringify(this.#times))
    })
  }

  note(file: string): void {
    const last = { wallMs: performance.now(), cpuMs: readCpuMs() }
    const before = this.#times[file] ?? { wallMs: 0, cpuMs: 0 }
    this.#times[file] = {
      wallMs: before.wallMs + last.wallMs - this.#last.wallMs,
      cpuMs: before.cpuMs + last.cpuMs - this.#last.cpuMs,
    }
    this.#last = last
    this.#file = file
  }
}

/** Times that the process of an entry module has written, by file; empty if it was killed. */
export function readFileTimes(entry: string): Readonly<Record<string, Times>> {
  try {
    return JSON.parse(readFileSync(timesFileOf(entry), 'utf8'))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    return {}
  }
}

function timesFileOf(entry: string): string {
  return `${entry}.times.json`
}

/** The slowest files of a run, and the sum of all. */
export function formatTimes(times: readonly FileTime[]): string {
  const sum = (name: keyof Times): number => times.reduce((total, time) => total + time[name], 0)
  const line = ({ wallMs, cpuMs, file }: FileTime): string =>
    `${seconds(wallMs)} ${seconds(cpuMs)}  ${file}`
  const slowest = times.toSorted((a, b) => b.wallMs - a.wallMs).slice(0, LISTED_MAX)
  const all = { wallMs: sum('wallMs'), cpuMs: sum('cpuMs'), file: `all ${times.length} files` }
  return ['Slowest files: seconds, processor seconds', ...slowest.map(line), line(all)].join('\n')
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1).padStart(8)
}
