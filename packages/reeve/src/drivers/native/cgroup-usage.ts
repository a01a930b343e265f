import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TaskUsage } from '../../agent/index.ts'

const NS_PER_US = 1_000
const NS_PER_TICK = 10_000_000

/** All files that tell something, of both versions; a group has those of its controllers. */
const COUNTER_FILES = [
  'cpu.stat',
  'cpuacct.usage',
  'cpuacct.stat',
  'memory.current',
  'memory.peak',
  'memory.swap.current',
  'memory.stat',
  'memory.usage_in_bytes',
  'memory.max_usage_in_bytes',
  'pids.current',
  'cgroup.procs',
] as const

/** The text of each file that is there, whichever group has it; v1 `cpu.stat` apart. */
type Counters = Readonly<Partial<Record<(typeof COUNTER_FILES)[number] | 'throttling', string>>>

/** Undefined when the groups are gone. */
export async function readCgroupUsage(
  groups: readonly string[],
  atMs: number,
): Promise<TaskUsage | undefined> {
  const pairs = await Promise.all(
    groups.flatMap((group) =>
      COUNTER_FILES.map(async (file) => [file, await readCounterFile(group, file)] as const),
    ),
  )
  const counters: Partial<Record<(typeof COUNTER_FILES)[number] | 'throttling', string>> = {}
  for (const [file, text] of pairs) {
    if (text === undefined) continue
    // v1 tells of throttling alone under the same name, v2 of everything.
    if (file === 'cpu.stat' && !text.includes('usage_usec')) counters.throttling = text
    else counters[file] = text
  }
  return Object.keys(counters).length === 0 ? undefined : usageFromCounters(counters, atMs)
}

async function readCounterFile(group: string, file: string): Promise<string | undefined> {
  return readFile(join(group, file), 'utf8').catch(() => undefined)
}

export function usageFromCounters(counters: Counters, atMs: number): TaskUsage {
  const cpuStat = parseCounterLines(counters['cpu.stat'])
  const cpuTicks = parseCounterLines(counters['cpuacct.stat'])
  const throttling = parseCounterLines(counters.throttling)
  const memory = parseCounterLines(counters['memory.stat'])
  const cacheBytes = memory('total_cache') ?? memory('cache') ?? memory('file') ?? 0
  const rssBytes = memory('total_rss') ?? memory('rss') ?? memory('anon') ?? 0
  const usageBytes =
    parseCounter(counters['memory.usage_in_bytes']) ??
    parseCounter(counters['memory.current']) ??
    rssBytes + cacheBytes
  const peak =
    parseCounter(counters['memory.max_usage_in_bytes']) ??
    parseCounter(counters['memory.peak']) ??
    0
  return {
    atMs,
    cpu: {
      totalNs: parseCounter(counters['cpuacct.usage']) ?? (cpuStat('usage_usec') ?? 0) * NS_PER_US,
      userNs: microsecondsToNs(cpuStat('user_usec')) ?? (cpuTicks('user') ?? 0) * NS_PER_TICK,
      systemNs: microsecondsToNs(cpuStat('system_usec')) ?? (cpuTicks('system') ?? 0) * NS_PER_TICK,
      throttledPeriods: throttling('nr_throttled') ?? cpuStat('nr_throttled') ?? 0,
      throttledNs: throttling('throttled_time') ?? microsecondsToNs(cpuStat('throttled_usec')) ?? 0,
    },
    memory: {
      rssBytes,
      cacheBytes,
      swapBytes: memory('total_swap') ?? parseCounter(counters['memory.swap.current']) ?? 0,
      usageBytes,
      maxUsageBytes: Math.max(peak, usageBytes),
    },
    pids: parseCounter(counters['pids.current']) ?? lineCount(counters['cgroup.procs']),
  }
}

function lineCount(text: string | undefined): number {
  return (text ?? '').split('\n').filter((line) => line !== '').length
}

function microsecondsToNs(microseconds: number | undefined): number | undefined {
  return microseconds === undefined ? undefined : microseconds * NS_PER_US
}

function parseCounter(text: string | undefined): number | undefined {
  const match = /^(\d+)\s*$/.exec(text ?? '')
  return match === null ? undefined : Number(match[1])
}

/** Looks up `name number` in a file of such lines. */
function parseCounterLines(text: string | undefined): (name: string) => number | undefined {
  const found = new Map(
    (text ?? '').split('\n').map((line) => {
      const [name = '', number = ''] = line.split(' ')
      return [name, Number(number)] as const
    }),
  )
  return (name) => found.get(name)
}
