import type { TaskUsage } from '../../agent/index.ts'
import { readProcFile, type ProcessInfo } from './processes.ts'

/** The kernel tells processor time in hundredths of a second, whatever it counts in itself. */
const NS_PER_TICK = 10_000_000

const BYTES_PER_KB = 1024

/** What some processes use together, as far as `/proc` tells. Undefined when none is left. */
export function usageOfProcesses(
  members: readonly ProcessInfo[],
  atMs: number,
): TaskUsage | undefined {
  const usages = members.flatMap(({ pid }) => {
    const stat = readProcFile(pid, 'stat')?.toString('latin1')
    const status = readProcFile(pid, 'status')?.toString('latin1')
    return stat === undefined || status === undefined ? [] : [processUsage(stat, status)]
  })
  if (usages.length === 0) return undefined
  const sum = (of: (usage: ProcessUsage) => number): number =>
    usages.reduce((total, usage) => total + of(usage), 0)
  const userNs = sum((usage) => usage.userTicks) * NS_PER_TICK
  const systemNs = sum((usage) => usage.systemTicks) * NS_PER_TICK
  const rssBytes = sum((usage) => usage.rssKb) * BYTES_PER_KB
  const maxUsageBytes = sum((usage) => usage.peakKb) * BYTES_PER_KB
  const swapBytes = sum((usage) => usage.swapKb) * BYTES_PER_KB
  return {
    atMs,
    cpu: { totalNs: userNs + systemNs, userNs, systemNs, throttledPeriods: 0, throttledNs: 0 },
    memory: { rssBytes, cacheBytes: 0, swapBytes, usageBytes: rssBytes, maxUsageBytes },
    pids: usages.length,
  }
}

interface ProcessUsage {
  readonly userTicks: number
  readonly systemTicks: number
  readonly rssKb: number
  readonly peakKb: number
  readonly swapKb: number
}

/** Children that a process has waited for count with it: they are in no list any more. */
function processUsage(stat: string, status: string): ProcessUsage {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = (index: number): number => Number(fields[index] ?? 0) || 0
  const kb = (name: string): number => {
    const match = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)
    return Number(match?.[1] ?? 0)
  }
  return {
    userTicks: ticks(11) + ticks(13),
    systemTicks: ticks(12) + ticks(14),
    rssKb: kb('VmRSS'),
    peakKb: kb('VmHWM'),
    swapKb: kb('VmSwap'),
  }
}
