/** Measurements of the victim and their evaluation. Pure: no clock, no process. */

/** The continuous activities of the victim, each at a fixed rate. */
export const VICTIM_KINDS = ['read', 'list', 'register', 'event', 'log'] as const
export type VictimKind = (typeof VICTIM_KINDS)[number]

/** Request timeout of the victim. */
export const DEADLINE_MS = 30_000

/** The requests of one kind that were due in one window. */
export interface KindSamples {
  /** Milliseconds since each request was due; a timed-out request counts as the deadline. */
  readonly tookMs: readonly number[]
  /** Requests that were not served, by status or reason. */
  readonly refused: Readonly<Record<string, number>>
}

export interface KindSummary {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly max: number
  readonly refused: Readonly<Record<string, number>>
}

export type VictimSummary = Readonly<Record<VictimKind, KindSummary>>

/** The smallest sample that is not exceeded by this fraction of all samples; 0 without samples. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b)
  const rank = Math.ceil(sorted.length * share)
  return sorted[Math.max(0, rank - 1)] ?? 0
}

export function summarize({ tookMs, refused }: KindSamples): KindSummary {
  return {
    count: tookMs.length,
    p50: quantile(tookMs, 0.5),
    p99: quantile(tookMs, 0.99),
    max: quantile(tookMs, 1),
    refused,
  }
}

export function summarizeAll(samples: Readonly<Record<VictimKind, KindSamples>>): VictimSummary {
  return {
    read: summarize(samples.read),
    list: summarize(samples.list),
    register: summarize(samples.register),
    event: summarize(samples.event),
    log: summarize(samples.log),
  }
}

/** A p99 may grow to this multiple of the baseline, and by this amount. */
const P99_RATIO_MAX = 3
const P99_ADDED_MS_MAX = 100
/** Maximum memory after the attack relative to before. */
export const MEMORY_RATIO_MAX = 1.2
/** A latency up to this multiple of the control's is caused by the machine. */
const CONTROL_RATIO_MAX = 1.1

export interface MemoryUse {
  readonly beforeBytes: number
  readonly peakBytes: number
  /** The minimum within ten seconds after the attack. */
  readonly afterBytes: number
}

/** All observations of one attack. */
export interface Observation {
  readonly victim: VictimSummary
  readonly memory: MemoryUse
  /** Names of the nodes that left the status `ready`. */
  readonly lostNodes: readonly string[]
  /** Repairs that were necessary; empty if the cluster recovered by itself. */
  readonly repairs: readonly string[]
}

/** A way in which an attack affected other tenants. */
export interface Miss {
  readonly what: 'latency' | 'refused' | 'heartbeat' | 'memory' | 'repair'
  readonly text: string
  /** The control, which does not use Reeve, is as slow: the machine lacks CPU. */
  readonly isMachine: boolean
}

export interface Compared {
  /** The nearest measurement without an attack. */
  readonly alone: VictimSummary
  /** The control of the same run. */
  readonly control: VictimSummary
}

/** All missed targets; empty if all are met. */
export function findMisses(observed: Observation, compared: Compared): Miss[] {
  return [
    ...VICTIM_KINDS.flatMap((kind) => latencyMisses(kind, observed.victim, compared)),
    ...VICTIM_KINDS.flatMap((kind) => refusalMisses(kind, observed.victim[kind])),
    ...observed.lostNodes.map((name) => miss('heartbeat', `node ${name} left ready`)),
    ...memoryMisses(observed.memory),
    ...observed.repairs.map((text) => miss('repair', text)),
  ]
}

function latencyMisses(
  kind: VictimKind,
  victim: VictimSummary,
  { alone, control }: Compared,
): Miss[] {
  const { p99 } = victim[kind]
  const before = alone[kind].p99
  if (p99 <= before * P99_RATIO_MAX && p99 <= before + P99_ADDED_MS_MAX) return []
  const isMachine = p99 <= control[kind].p99 * CONTROL_RATIO_MAX
  const text = `${kind} p99 ${p99.toFixed(0)} ms, alone ${before.toFixed(0)} ms`
  return [{ what: 'latency', text, isMachine }]
}

function refusalMisses(kind: VictimKind, { refused }: KindSummary): Miss[] {
  const total = sumOf(refused)
  return total === 0 ? [] : [miss('refused', `${total} ${kind} refused (${countsText(refused)})`)]
}

function memoryMisses({ beforeBytes, afterBytes }: MemoryUse): Miss[] {
  if (afterBytes <= beforeBytes * MEMORY_RATIO_MAX) return []
  const grown = Math.ceil((afterBytes / beforeBytes - 1) * 100)
  return [miss('memory', `memory stays ${grown} % above`)]
}

function miss(what: Miss['what'], text: string): Miss {
  return { what, text, isMachine: false }
}

/** `met`; `machine` if only the machine is the cause; otherwise `missed`. */
export function verdictOf(misses: readonly Miss[]): 'met' | 'machine' | 'missed' {
  if (misses.length === 0) return 'met'
  return misses.every(({ isMachine }) => isMachine) ? 'machine' : 'missed'
}

export function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

/** Sorted by count: `200 × 1,204, 429 × 80`. */
export function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([what, count]) => `${what} × ${count.toLocaleString('en')}`)
    .join(', ')
}

export interface LineWindow {
  /** Number of the last line before the window; undefined when none arrived. */
  readonly before: number | undefined
  /** Number of the first line after the window; undefined when none arrived. */
  readonly after: number | undefined
  /** Received lines of the window. */
  readonly received: number
  /** Lines that a task with enough processor time writes in the window. */
  readonly expected: number
}

/**
 * Lines that were written in the window and never arrived. The task numbers its lines, so lines
 * that it did not write, for lack of processor time, are not missed.
 */
export function missingLines({ before, after, received, expected }: LineWindow): number {
  const written = before === undefined || after === undefined ? expected : after - before - 1
  return Math.max(0, written - received)
}
