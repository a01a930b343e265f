import { readFile } from 'node:fs/promises'

const TICKS_PER_SECOND = 100

export interface ProcessMemory {
  /** VmRSS. */
  readonly residentBytes: number
  /** VmHWM: the most that it ever was. */
  readonly residentBytesMax: number
}

/** The memory of a process, as the kernel counts it (proc(5)). */
export async function memoryOf(pid: number): Promise<ProcessMemory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) * 1_024
  return { residentBytes: bytes('VmRSS'), residentBytesMax: bytes('VmHWM') }
}

/** Processor time of a process or thread, from its `stat` file. */
export async function readCpuSeconds(path: string): Promise<number> {
  const stat = await readFile(path, 'utf8')
  // proc(5): the 14th and 15th field, counted from behind the name, which may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}
