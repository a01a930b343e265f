import type { StatsFs } from 'node:fs'
import { readFile, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { DiskUsage, HostUsage } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { errorCode } from '../store/state-file.ts'

interface CpuTimes {
  readonly user: number
  readonly system: number
  readonly idle: number
  readonly total: number
}

/**
 * Reads the usage of the machine from the kernel. CPU usage is computed from the change since the
 * previous read.
 */
export class HostUsageReader {
  readonly #clock: Clock
  readonly #directory: string
  readonly #mhzPerCore: () => number
  #previousTimes: ReadonlyMap<string, CpuTimes> = new Map()

  /** `directory`: the directory of the allocations. */
  constructor(clock: Clock, directory: string, mhzPerCore: () => number) {
    this.#clock = clock
    this.#directory = directory
    this.#mhzPerCore = mhzPerCore
  }

  async read(): Promise<HostUsage> {
    const disk = await diskUsage(this.#directory)
    const times = parseCpuTimes(await readFile('/proc/stat', 'utf8'))
    const CPU = [...times].map(([name, now]) => cpuUsage(name, now, this.#previousTimes.get(name)))
    this.#previousTimes = times
    return {
      Memory: parseMemoryInfo(await readFile('/proc/meminfo', 'utf8')),
      CPU,
      DiskStats: [disk],
      AllocDirStats: disk,
      DeviceStats: null,
      Uptime: Math.floor(Number((await readFile('/proc/uptime', 'utf8')).split(' ')[0] ?? 0)),
      Timestamp: nsFromMs(this.#clock.nowMs()),
      CPUTicksConsumed:
        (CPU.reduce((sum, cpu) => sum + cpu.TotalPercent, 0) * this.#mhzPerCore()) / 100,
    }
  }
}

/** The lines `cpu0 …` of /proc/stat: user nice system idle iowait irq softirq steal. */
export function parseCpuTimes(text: string): ReadonlyMap<string, CpuTimes> {
  const times = new Map<string, CpuTimes>()
  for (const line of text.split('\n')) {
    const [name = '', ...values] = line.split(/\s+/)
    if (!/^cpu\d+$/.test(name)) continue
    const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0] =
      values.map(Number)
    const total = user + nice + system + idle + wait + irq + soft + steal
    times.set(name, { user: user + nice, system: system + irq + soft, idle: idle + wait, total })
  }
  return times
}

function cpuUsage(
  name: string,
  now: CpuTimes,
  previous: CpuTimes | undefined,
): HostUsage['CPU'][number] {
  const total = now.total - (previous?.total ?? 0)
  const percentOfField = (field: 'user' | 'system' | 'idle'): number =>
    total <= 0 ? 0 : ((now[field] - (previous?.[field] ?? 0)) / total) * 100
  const [User, System, Idle] = [
    percentOfField('user'),
    percentOfField('system'),
    percentOfField('idle'),
  ]
  return { CPU: name, User, System, Idle, TotalPercent: total <= 0 ? 0 : 100 - Idle }
}

const BYTES_PER_KIB = 1_024

export function parseMemoryInfo(text: string): HostUsage['Memory'] {
  const bytes = (name: string): number => {
    const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)
    return Number(found?.[1] ?? 0) * BYTES_PER_KIB
  }
  const [Total, Available, Free] = [bytes('MemTotal'), bytes('MemAvailable'), bytes('MemFree')]
  return { Total, Available, Used: Total - Available, Free }
}

async function diskUsage(path: string): Promise<DiskUsage> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statFileSystem(path)
  const used = blocks - bfree
  const { device, mountpoint } = findMount(await readFile('/proc/self/mounts', 'utf8'), path)
  return {
    Device: device,
    Mountpoint: mountpoint,
    Size: blocks * bsize,
    Used: used * bsize,
    Available: bavail * bsize,
    UsedPercent: percentOf(used, used + bavail),
    InodesUsedPercent: percentOf(files - ffree, files),
  }
}

/** File system of the directory, or of its closest existing parent. */
async function statFileSystem(path: string): Promise<StatsFs> {
  try {
    return await statfs(path)
  } catch (thrown) {
    const parent = dirname(path)
    if (errorCode(thrown) !== 'ENOENT' || parent === path) throw thrown
    return await statFileSystem(parent)
  }
}

function percentOf(part: number, whole: number): number {
  return whole <= 0 ? 0 : (part / whole) * 100
}

/** Finds the longest mount point that contains the path. */
export function findMount(
  table: string,
  path: string,
): { readonly device: string; readonly mountpoint: string } {
  let longest = { device: '', mountpoint: '' }
  for (const line of table.split('\n')) {
    const [device = '', mountpoint = ''] = line.split(' ')
    const containsPath = path === mountpoint || path.startsWith(mountpoint.replace(/\/?$/, '/'))
    if (mountpoint !== '' && containsPath && mountpoint.length >= longest.mountpoint.length)
      longest = { device, mountpoint }
  }
  return longest
}
