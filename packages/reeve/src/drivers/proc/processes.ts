import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { errorCode } from '../../agent/index.ts'

/** A process; its start time distinguishes it from a later one with the same PID. */
export interface ProcessId {
  readonly pid: number
  /** Start time in clock ticks since the boot. */
  readonly startTime: number
}

export interface ProcessInfo extends ProcessId {
  readonly parentPid: number
  readonly processGroup: number
  readonly sessionId: number
  /** True for a zombie. */
  readonly isZombie: boolean
}

/**
 * Parses `/proc/<pid>/stat`. The process name may contain any characters, so fields are counted
 * from the end.
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

/** Returns undefined if the process does not exist. */
export function readProcess(pid: number): ProcessInfo | undefined {
  const line = readProcFile(pid, 'stat')
  return line === undefined ? undefined : parseStat(line.toString('latin1'))
}

export function isAlive(processId: ProcessId): boolean {
  const found = readProcess(processId.pid)
  return found !== undefined && found.startTime === processId.startTime && !found.isZombie
}

/**
 * Reports whether a process may still exist: also true if that cannot be determined because the
 * agent has no free file descriptors. The fallback sends signal 0, which cannot detect a reused
 * PID, so the result must not be used to send signals.
 */
export function mayBeAlive(processId: ProcessId): boolean {
  try {
    const found = parseStat(readFileSync(`/proc/${processId.pid}/stat`, 'latin1'))
    return found !== undefined && found.startTime === processId.startTime && !found.isZombie
  } catch (thrown) {
    return isOutOfResources(thrown) && acceptsSignal(processId.pid)
  }
}

/** Error codes for a temporary lack of file descriptors or memory. */
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
 * Reads a file of a process; undefined if the process is gone or access is denied. Never waits for
 * a disk.
 */
export function readProcFile(pid: number, name: ProcFileName): Buffer | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`)
  } catch {
    // ENOENT, ESRCH: the process has ended. EACCES: it belongs to another user.
    return undefined
  }
}

type ProcFileName = 'stat' | 'status' | 'environ' | 'cmdline' | 'cgroup'

/** Number of processes that are read before the scan yields to the event loop. */
const PROCESSES_PER_SLICE = 128

/** Lists all processes of the host. Calls during a scan share the next one. */
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

const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id'

/** Returns the boot ID of the host, which identifies processes of earlier boots as gone. */
export async function readBootId(): Promise<string> {
  return (await readFile(BOOT_ID_FILE, 'utf8')).trim()
}

/** Exit code of a task whose status is unknown; no program can return it. */
export const UNKNOWN_STATUS = -1

/** Exit of a detached task, which never settles. */
export const NEVER = new Promise<never>(() => undefined)
