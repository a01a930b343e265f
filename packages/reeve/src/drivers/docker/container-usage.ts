import type { TaskUsage } from '../../agent/index.ts'
import { numberAt } from './engine.ts'

/**
 * What the engine's `stats` say. The names of the memory's parts differ between the kernel's two
 * kinds of control groups, and some engines leave them out.
 */
export function usageFromStats(stats: unknown, atMs: number): TaskUsage {
  const cpu = (name: string): number => numberAt(stats, 'cpu_stats', 'cpu_usage', name)
  const throttled = (name: string): number => numberAt(stats, 'cpu_stats', 'throttling_data', name)
  const memory = (...names: readonly string[]): number => numberAt(stats, 'memory_stats', ...names)
  const usageBytes = memory('usage')
  const cacheBytes =
    memory('stats', 'file') || memory('stats', 'total_cache') || memory('stats', 'cache')
  const rss = memory('stats', 'anon') || memory('stats', 'total_rss') || memory('stats', 'rss')
  return {
    atMs,
    cpu: {
      totalNs: cpu('total_usage'),
      userNs: cpu('usage_in_usermode'),
      systemNs: cpu('usage_in_kernelmode'),
      throttledPeriods: throttled('throttled_periods'),
      throttledNs: throttled('throttled_time'),
    },
    memory: {
      rssBytes: rss === 0 ? Math.max(0, usageBytes - cacheBytes) : rss,
      cacheBytes,
      swapBytes: memory('stats', 'total_swap') || memory('stats', 'swap'),
      usageBytes,
      maxUsageBytes: Math.max(memory('max_usage'), usageBytes),
    },
    pids: numberAt(stats, 'pids_stats', 'current'),
  }
}
