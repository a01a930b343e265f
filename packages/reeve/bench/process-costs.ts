import { readdir, readFile } from 'node:fs/promises'

const TICKS_PER_SECOND = 100

export interface ProcessMemory {
  /** VmRSS. */
  readonly residentBytes: number
  /** VmHWM: the peak. */
  readonly residentBytesMax: number
}

/** Memory of a process as reported by the kernel (proc(5)). */
export async function memoryOf(pid: number): Promise<ProcessMemory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) * 1_024
  return { residentBytes: bytes('VmRSS'), residentBytesMax: bytes('VmHWM') }
}

/** CPU time of a process or thread from its `stat` file. */
export async function readCpuSeconds(path: string): Promise<number> {
  const stat = await readFile(path, 'utf8')
  // proc(5): fields 14 and 15, counted after the name, which may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/**
 * CPU time of all tasks on this machine, ended ones included, from the control group that contains
 * those of the tasks; undefined if the machine has none.
 */
export async function tasksCpuSeconds(): Promise<number | undefined> {
  const read = (path: string) => readFile(path, 'utf8').catch(() => undefined)
  const nanoseconds = await read('/sys/fs/cgroup/cpuacct/reeve/cpuacct.usage')
  if (nanoseconds !== undefined) return Number(nanoseconds) / 1e9
  const statistics = await read('/sys/fs/cgroup/reeve/cpu.stat')
  const [, microseconds] = /^usage_usec (\d+)/m.exec(statistics ?? '') ?? []
  return microseconds === undefined ? undefined : Number(microseconds) / 1e6
}

/** Processor time of all threads of a process, to the nanosecond of the kernel's accounting. */
export async function cpuMicroseconds(pid: number): Promise<number> {
  let sum = 0
  for (const thread of await readdir(`/proc/${pid}/task`))
    sum += await threadMicroseconds(pid, thread)
  return sum
}

/** Processor time of the main thread of a process. */
export async function mainThreadMicroseconds(pid: number): Promise<number> {
  return await threadMicroseconds(pid, String(pid))
}

async function threadMicroseconds(pid: number, thread: string): Promise<number> {
  // A thread may end while it is looked up.
  const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0')
  return Number.parseInt(text, 10) / 1_000
}
