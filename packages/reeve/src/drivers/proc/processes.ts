import { readdirSync, readFileSync } from 'node:fs'
import { errorCode } from '../../agent/index.ts'

/** One process, told from a later one with the same number by when it began. */
export interface ProcessId {
  readonly pid: number
  /** Clock ticks since the boot. */
  readonly startTime: number
}

export interface ProcessInfo extends ProcessId {
  readonly parentPid: number
  readonly processGroup: number
  readonly sessionId: number
  /** It has ended and only waits for its parent to notice. */
  readonly isZombie: boolean
}

/**
 * One line of `/proc/<pid>/stat`. The name in it may hold anything, so the fields are counted from
 * its end.
 */
export function parseStat(line: string): ProcessInfo | undefined {
  const open = line.indexOf('(')
  const close = line.lastIndexOf(')')
  if (open < 0 || close < open) return undefined
  const [state, ...rest] = line
    .slice(close + 1)
    .trim()
    .split(' ')
  const number = (index: number): number => Number(rest[index])
  const info = {
    pid: Number(line.slice(0, open)),
    parentPid: number(0),
    processGroup: number(1),
    sessionId: number(2),
    startTime: number(18),
    isZombie: state === 'Z' || state === 'X',
  }
  const isComplete = [
    info.pid,
    info.parentPid,
    info.processGroup,
    info.sessionId,
    info.startTime,
  ].every((value) => {
    return Number.isSafeInteger(value)
  })
  return isComplete && info.pid > 0 ? info : undefined
}

/** Undefined when there is no such process. */
export function readProcess(pid: number): ProcessInfo | undefined {
  const line = readProcFile(pid, 'stat')
  return line === undefined ? undefined : parseStat(line.toString('latin1'))
}

export function isAlive(processId: ProcessId): boolean {
  const found = readProcess(processId.pid)
  return found !== undefined && found.startTime === processId.startTime && !found.isZombie
}

/**
 * Whether somebody who must not take a living process for a dead one should wait: true too when it
 * cannot be told, because the agent may open no further file. Asking by a signal needs none; it
 * does not tell a later process of the same number apart, so never send one for this answer.
 */
export function mayBeAlive(processId: ProcessId): boolean {
  try {
    const found = parseStat(readFileSync(`/proc/${processId.pid}/stat`, 'latin1'))
    return found !== undefined && found.startTime === processId.startTime && !found.isZombie
  } catch (thrown) {
    return isOutOfResources(thrown) && acceptsSignal(processId.pid)
  }
}

/** The agent or the machine has no more files or memory for this just now; later it may. */
export function isOutOfResources(thrown: unknown): boolean {
  return ['EMFILE', 'ENFILE', 'ENOMEM'].includes(errorCode(thrown) ?? '')
}

function acceptsSignal(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (thrown) {
    return errorCode(thrown) !== 'ESRCH'
  }
}

/**
 * A file of a process; undefined when the process is gone or may not be looked into. Never waits
 * for a disk.
 */
export function readProcFile(pid: number, name: ProcFileName): Buffer | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`)
  } catch {
    // ENOENT, ESRCH: it ended. EACCES: it is not one of ours.
    return undefined
  }
}

type ProcFileName = 'stat' | 'status' | 'environ' | 'cmdline' | 'cgroup'

/** Processes read before other work gets its turn. */
const PROCESSES_PER_SLICE = 128

/** Every process of the machine. Whoever asks while a scan runs shares the next one. */
export class ProcessTable {
  #next: Promise<readonly ProcessInfo[]> | undefined
  #running: Promise<unknown> = Promise.resolve()

  scan(): Promise<readonly ProcessInfo[]> {
    if (this.#next !== undefined) return this.#next
    const next = this.#running.then(() => {
      this.#next = undefined
      const scan = scanAllProcesses()
      this.#running = scan
      return scan
    })
    this.#next = next
    return next
  }
}

async function scanAllProcesses(): Promise<readonly ProcessInfo[]> {
  const found: ProcessInfo[] = []
  let readCount = 0
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const info = readProcess(Number(name))
    if (info !== undefined) found.push(info)
    readCount += 1
    if (readCount % PROCESSES_PER_SLICE === 0)
      await new Promise<void>((resolve) => setImmediate(resolve))
  }
  return found
}
