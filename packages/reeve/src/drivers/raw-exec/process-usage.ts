import type { TaskUsage } from '../../agent/index.ts'
import { readProc, type ProcessInfo } from './processes.ts'

/** The kernel tells processor time in hundredths of a second, whatever it counts in itself. */
const NS_PER_TICK = 10_000_000

const BYTES_PER_KB = 1024

/** What some processes use together, as far as `/proc` tells. Undefined when none is left. */
export function usageOf(members: readonly ProcessInfo[], atMs: number): TaskUsage | undefined {
  const found = members.flatMap(({ pid }) => {
    const stat = readProc(pid, 'stat')?.toString('latin1')
    const status = readProc(pid, 'status')?.toString('latin1')
    return stat === undefined || status === undefined ? [] : [processUsage(stat, status)]
  })
  if (found.length === 0) return undefined
  const sum = (of: (one: ProcessUsage) => number): number =>
    found.reduce((total, one) => total + of(one), 0)
  const userNs = sum((one) => one.userTicks) * NS_PER_TICK
  const systemNs = sum((one) => one.systemTicks) * NS_PER_TICK
  const rssBytes = sum((one) => one.rssKb) * BYTES_PER_KB
  const maxUsageBytes = sum((one) => one.peakKb) * BYTES_PER_KB
  const swapBytes = sum((one) => one.swapKb) * BYTES_PER_KB
  return {
    atMs,
    cpu: { totalNs: userNs + systemNs, userNs, systemNs, throttledPeriods: 0, throttledNs: 0 },
    memory: { rssBytes, cacheBytes: 0, swapBytes, usageBytes: rssBytes, maxUsageBytes },
    pids: found.length,
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
