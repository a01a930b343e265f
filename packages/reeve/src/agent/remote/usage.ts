import type { AllocationUsage, ResourceUsage, TaskUsage as WireTaskUsage } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { TaskControl } from '../task/task-control.ts'
import type { TaskUsage } from '../task-session.ts'
import { withDeadline } from '../wait.ts'
import { RemoteRefusal } from './remote-refusal.ts'

interface Sample {
  readonly atMs: number
  readonly cpu: TaskUsage['cpu']
}

/** Tasks whose last sample is kept; a node hardly runs as many. */
const SAMPLES_MAX = 10_000

interface UsageQuestion {
  readonly allocation: string
  readonly tasks: readonly TaskControl[]
  /** All of them when empty. */
  readonly task: string
}

/** What the tasks of this node use. How busy they are is told by what changed since last time. */
export class UsageReader {
  readonly #clock: Clock
  readonly #mhzPerCore: () => number
  readonly #samples = new Map<string, Sample>()

  constructor(clock: Clock, mhzPerCore: () => number) {
    this.#clock = clock
    this.#mhzPerCore = mhzPerCore
  }

  async read({ allocation, tasks, task }: UsageQuestion): Promise<AllocationUsage> {
    const wanted = tasks.filter(({ name }) => task === '' || name === task)
    if (wanted.length === 0) throw new RemoteRefusal(400, `unknown task name ${quoted(task)}`)
    const usages: (readonly [string, WireTaskUsage])[] = []
    for (const one of wanted) {
      const usage = await this.#usageOf(one)
      if (usage !== undefined)
        usages.push([one.name, this.#show(`${allocation} ${one.name}`, usage)])
    }
    return {
      ResourceUsage: sumOf(usages.map(([, usage]) => usage.ResourceUsage)),
      Tasks: Object.fromEntries(usages),
      Timestamp: nsFromMs(this.#clock.nowMs()),
    }
  }

  async #usageOf(task: TaskControl): Promise<TaskUsage | undefined> {
    const what = `the use of task ${quoted(task.name)}`
    const ms = AGENT_LIMITS.usageMsMax
    // One task that cannot tell must not hide the others.
    return await withDeadline(task.usage(), { clock: this.#clock, ms, what }).catch(() => undefined)
  }

  #show(key: string, usage: TaskUsage): WireTaskUsage {
    const before = this.#samples.get(key)
    if (this.#samples.size >= SAMPLES_MAX) this.#samples.clear()
    this.#samples.set(key, usage)
    return {
      ResourceUsage: wireUsage(usage, before, this.#mhzPerCore()),
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

function wireUsage(
  { atMs, cpu, memory }: TaskUsage,
  before: Sample | undefined,
  mhzPerCore: number,
): ResourceUsage {
  const elapsedNs = before === undefined ? 0 : (atMs - before.atMs) * NS_PER_MS
  const share = (now: number, then: number | undefined): number =>
    // A task that was started again counts from zero.
    elapsedNs <= 0 || then === undefined || now < then ? 0 : ((now - then) / elapsedNs) * 100
  const percent = share(cpu.totalNs, before?.cpu.totalNs)
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
      SystemMode: share(cpu.systemNs, before?.cpu.systemNs),
      UserMode: share(cpu.userNs, before?.cpu.userNs),
      TotalTicks: (percent / 100) * mhzPerCore,
      ThrottledPeriods: cpu.throttledPeriods,
      ThrottledTime: cpu.throttledNs,
      Percent: percent,
      Measured: CPU_MEASURED,
    },
    DeviceStats: null,
  }
}

function sumOf(usages: readonly ResourceUsage[]): ResourceUsage {
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
