import type { AllocationUsage, ResourceUsage, TaskUsage as WireTaskUsage } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { TaskControl } from '../task/task-control.ts'
import type { TaskUsage } from '../task-session.ts'
import { withTimeout } from '../wait.ts'
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
    if (this.#lastSamples.size >= SAMPLES_MAX) this.#lastSamples.clear()
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
