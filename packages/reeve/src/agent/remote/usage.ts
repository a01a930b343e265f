import type { StatsFs } from 'node:fs'
import { readFile, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import {
  METERED_TASKS_MAX,
  type AllocationUsage,
  type DiskUsage,
  type HostUsage,
  type NodeUsageReport,
  type ResourceUsage,
  type TaskUsage as WireTaskUsage,
} from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { TaskControl } from '../task/task-control.ts'
import type { TaskUsage } from '../driver.ts'
import { errorCode } from '../store/state-file.ts'
import { withTimeout } from '../timing.ts'
import { RemoteRefusal } from './remote-refusal.ts'

interface CpuSample {
  readonly atMs: number
  readonly cpu: TaskUsage['cpu']
}

/** Maximum number of tasks whose last sample is kept. */
const SAMPLES_MAX = 10_000

interface UsageRequest {
  readonly allocation: string
  readonly tasks: readonly TaskControl[]
  /** Name of a task; empty for all tasks. */
  readonly task: string
}

/** Reads the usage of tasks. CPU usage is computed from the change since the previous read. */
export class UsageReader {
  readonly #clock: Clock
  readonly #mhzPerCore: () => number
  readonly #lastSamples = new Map<string, CpuSample>()

  constructor(clock: Clock, mhzPerCore: () => number) {
    this.#clock = clock
    this.#mhzPerCore = mhzPerCore
  }

  async read({ allocation, tasks, task }: UsageRequest): Promise<AllocationUsage> {
    const selectedTasks = tasks.filter(({ name }) => task === '' || name === task)
    if (selectedTasks.length === 0)
      throw new RemoteRefusal(400, `unknown task name ${quoted(task)}`)
    const usages: (readonly [string, WireTaskUsage])[] = []
    for (const selectedTask of selectedTasks) {
      const usage = await this.#readTaskUsage(selectedTask)
      if (usage !== undefined)
        usages.push([
          selectedTask.name,
          this.#toWireUsage(`${allocation} ${selectedTask.name}`, usage),
        ])
    }
    return {
      ResourceUsage: sumUsages(usages.map(([, usage]) => usage.ResourceUsage)),
      Tasks: Object.fromEntries(usages),
      Timestamp: nsFromMs(this.#clock.nowMs()),
    }
  }

  async #readTaskUsage(task: TaskControl): Promise<TaskUsage | undefined> {
    const operation = `the use of task ${quoted(task.name)}`
    const timeoutMs = AGENT_LIMITS.usageTimeoutMs
    // A task without a result must not hide the others.
    return await withTimeout(task.usage(), { clock: this.#clock, timeoutMs, operation }).catch(
      () => undefined,
    )
  }

  #toWireUsage(key: string, usage: TaskUsage): WireTaskUsage {
    const before = this.#lastSamples.get(key)
    // Deleted and set again, so that the map is ordered by the time of the last read.
    this.#lastSamples.delete(key)
    const [oldestKey] = this.#lastSamples.keys()
    if (this.#lastSamples.size >= SAMPLES_MAX && oldestKey !== undefined)
      this.#lastSamples.delete(oldestKey)
    this.#lastSamples.set(key, usage)
    return {
      ResourceUsage: toResourceUsage(usage, before, this.#mhzPerCore()),
      Timestamp: nsFromMs(usage.atMs),
      Pids: null,
    }
  }
}

const NS_PER_MS = 1_000_000
const MEMORY_MEASURED = ['RSS', 'Cache', 'Swap', 'Usage', 'Max Usage']
const CPU_MEASURED = [
  'System Mode',
  'User Mode',
  'Total Ticks',
  'Throttled Periods',
  'Throttled Time',
  'Percent',
]

function toResourceUsage(
  { atMs, cpu, memory }: TaskUsage,
  previous: CpuSample | undefined,
  mhzPerCore: number,
): ResourceUsage {
  const elapsedNs = previous === undefined ? 0 : (atMs - previous.atMs) * NS_PER_MS
  const percentSince = (now: number, then: number | undefined): number =>
    // A restarted task counts from zero.
    elapsedNs <= 0 || then === undefined || now < then ? 0 : ((now - then) / elapsedNs) * 100
  const percent = percentSince(cpu.totalNs, previous?.cpu.totalNs)
  return {
    MemoryStats: {
      RSS: memory.rssBytes,
      Cache: memory.cacheBytes,
      Swap: memory.swapBytes,
      MappedFile: 0,
      Usage: memory.usageBytes,
      MaxUsage: memory.maxUsageBytes,
      KernelUsage: 0,
      KernelMaxUsage: 0,
      Measured: MEMORY_MEASURED,
    },
    CpuStats: {
      SystemMode: percentSince(cpu.systemNs, previous?.cpu.systemNs),
      UserMode: percentSince(cpu.userNs, previous?.cpu.userNs),
      TotalTicks: (percent / 100) * mhzPerCore,
      ThrottledPeriods: cpu.throttledPeriods,
      ThrottledTime: cpu.throttledNs,
      Percent: percent,
      Measured: CPU_MEASURED,
    },
    DeviceStats: null,
  }
}

function sumUsages(usages: readonly ResourceUsage[]): ResourceUsage {
  const memory = (pick: (stats: ResourceUsage['MemoryStats']) => number): number =>
    usages.reduce((sum, { MemoryStats }) => sum + pick(MemoryStats), 0)
  const cpu = (pick: (stats: ResourceUsage['CpuStats']) => number): number =>
    usages.reduce((sum, { CpuStats }) => sum + pick(CpuStats), 0)
  return {
    MemoryStats: {
      RSS: memory((stats) => stats.RSS),
      Cache: memory((stats) => stats.Cache),
      Swap: memory((stats) => stats.Swap),
      MappedFile: memory((stats) => stats.MappedFile),
      Usage: memory((stats) => stats.Usage),
      MaxUsage: memory((stats) => stats.MaxUsage),
      KernelUsage: memory((stats) => stats.KernelUsage),
      KernelMaxUsage: memory((stats) => stats.KernelMaxUsage),
      Measured: MEMORY_MEASURED,
    },
    CpuStats: {
      SystemMode: cpu((stats) => stats.SystemMode),
      UserMode: cpu((stats) => stats.UserMode),
      TotalTicks: cpu((stats) => stats.TotalTicks),
      ThrottledPeriods: cpu((stats) => stats.ThrottledPeriods),
      ThrottledTime: cpu((stats) => stats.ThrottledTime),
      Percent: cpu((stats) => stats.Percent),
      Measured: CPU_MEASURED,
    },
    DeviceStats: null,
  }
}

function quoted(name: string): string {
  return JSON.stringify(name)
}

/** An allocation whose tasks are measured. */
interface MeasuredAllocation {
  readonly id: string
  readonly tasks: readonly TaskControl[]
  readonly endedMs: number | undefined
}

/**
 * Reads the usage of the node and of all running tasks, for metrics. Its samples are its own, so
 * that other readers do not shorten the time over which CPU usage is computed.
 */
export class NodeUsageReader {
  readonly #tasks: UsageReader
  readonly #host: HostUsageReader
  readonly #allocations: () => Iterable<MeasuredAllocation>

  constructor(
    tasks: UsageReader,
    host: HostUsageReader,
    allocations: () => Iterable<MeasuredAllocation>,
  ) {
    this.#tasks = tasks
    this.#host = host
    this.#allocations = allocations
  }

  async read(): Promise<NodeUsageReport> {
    const host = await this.#host.read()
    const running = [...this.#allocations()].flatMap(({ id, tasks, endedMs }) =>
      endedMs === undefined
        ? tasks.filter(({ state }) => state.State === 'running').map((task) => ({ id, task }))
        : [],
    )
    const reports = await Promise.all(
      running.slice(0, METERED_TASKS_MAX).map(async ({ id: allocation, task }) => {
        const { Tasks } = await this.#tasks.read({ allocation, tasks: [task], task: '' })
        const usage = Tasks[task.name]
        return usage === undefined ? [] : [taskReport(allocation, task.name, usage.ResourceUsage)]
      }),
    )
    return { host: hostReport(host), tasks: reports.flat() }
  }
}

function taskReport(
  allocation: string,
  task: string,
  { MemoryStats, CpuStats }: ResourceUsage,
): NodeUsageReport['tasks'][number] {
  return {
    allocation,
    task,
    cpuPercent: CpuStats.Percent,
    cpuMHz: CpuStats.TotalTicks,
    throttledNs: CpuStats.ThrottledTime,
    rssBytes: MemoryStats.RSS,
    cacheBytes: MemoryStats.Cache,
    swapBytes: MemoryStats.Swap,
    usageBytes: MemoryStats.Usage,
    maxUsageBytes: MemoryStats.MaxUsage,
  }
}

function hostReport({ CPU, Memory, AllocDirStats, Uptime }: HostUsage): NodeUsageReport['host'] {
  const percents = CPU.map(({ TotalPercent }) => TotalPercent)
  return {
    cpuPercent: percents.reduce((sum, percent) => sum + percent, 0) / Math.max(1, percents.length),
    memoryTotalBytes: Memory.Total,
    memoryAvailableBytes: Memory.Available,
    memoryUsedBytes: Memory.Used,
    memoryFreeBytes: Memory.Free,
    diskSizeBytes: AllocDirStats.Size,
    diskUsedBytes: AllocDirStats.Used,
    diskAvailableBytes: AllocDirStats.Available,
    uptimeSeconds: Uptime,
  }
}

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
