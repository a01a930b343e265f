import type { Counts } from '../../packages/reeve/test/build/experiment.ts'

/** An experiment: a script with the flags `--minutes` and `--seed` that reports its results. */
export interface ProofExperiment {
  readonly name: string
  /** Description of the experiment and its invariants, for the page. */
  readonly claim: string
  /** The script and its fixed arguments. */
  readonly script: readonly [file: string, ...args: readonly string[]]
  /** Its part of the time, relative to the others. */
  readonly weight: number
  /** Shorter than this it shows nothing. */
  readonly secondsMin: number
  /** Time to start and to settle, in addition to its duration. */
  readonly setUpSeconds: number
}

const SIMULATION = 'packages/reeve/sim/run.ts'
const TESTS = 'packages/reeve/test'

export const EXPERIMENTS: readonly ProofExperiment[] = [
  {
    name: 'engine-kills',
    claim:
      'a process that writes to the embedded storage is killed at any moment, also while it opens: every acknowledged commit is there, none is half there, the log has no gap',
    script: [`${TESTS}/e2e/kill-writer.test.ts`],
    weight: 3,
    secondsMin: 20,
    setUpSeconds: 2,
  },
  {
    name: 'store-kills',
    claim:
      'the same with the state on top of the storage: rows, table indexes and the log agree after each kill',
    script: [`${TESTS}/e2e/kill-store.test.ts`],
    weight: 1,
    secondsMin: 15,
    setUpSeconds: 2,
  },
  {
    name: 'node-kills',
    claim:
      'agents, servers, launchers and supervisors are killed while real tasks start, run and end: no exit code and no byte of output is lost, no task is started twice',
    script: [`${TESTS}/agent/crash.test.ts`],
    weight: 4,
    secondsMin: 60,
    setUpSeconds: 30,
  },
  {
    name: 'server-faults',
    claim:
      'three servers on PostgreSQL are killed and paused, and so is the database: histories of clients are linearizable, no acknowledged write is lost, the event stream misses and repeats nothing, each job runs once',
    script: [`${TESTS}/e2e/cluster-faults.test.ts`],
    weight: 5,
    secondsMin: 60,
    setUpSeconds: 30,
  },
  {
    name: 'failovers',
    claim:
      'a PostgreSQL standby is promoted, with all commits and without the last ones, while servers are paused: every server shows what the database has, each loss is reported with its size',
    script: [`${TESTS}/e2e/cluster-failover.test.ts`],
    weight: 2,
    secondsMin: 60,
    setUpSeconds: 20,
  },
  {
    name: 'damage',
    claim:
      'one file of a storage gets a flipped byte, a lost end or a block of zeros: the damage is reported, or all data is there',
    script: ['packages/reeve/src/storage/embedded/any-damage.test.ts'],
    weight: 2,
    secondsMin: 5,
    setUpSeconds: 2,
  },
  {
    name: 'full-disk',
    claim:
      'the disk of a server fills up under load: reads and deletes work, every acknowledged write is there, also after a kill on the full disk, and writes continue when space is free',
    script: [`${TESTS}/e2e/full-disk.test.ts`],
    weight: 1,
    secondsMin: 30,
    setUpSeconds: 15,
  },
  {
    name: 'memory',
    claim:
      'a server with a small heap is filled to its limit: writes that add to the state are rejected, reads and deletes work, the process survives and accepts writes again',
    script: [`${TESTS}/e2e/memory.test.ts`],
    weight: 1,
    secondsMin: 30,
    setUpSeconds: 15,
  },
  {
    name: 'clock-jumps',
    claim:
      'simulated clusters of one and three servers whose clocks jump by seconds to hours in both directions: no loop stops, no timer fires early, the cluster settles',
    script: [SIMULATION, '--clocks'],
    weight: 2,
    secondsMin: 5,
    setUpSeconds: 1,
  },
  {
    name: 'simulation',
    claim:
      'simulated clusters of one server with crashes, slow, full and failing disks, memory pressure, clock jumps, broken networks and nodes that come and go: every invariant holds, the cluster settles',
    script: [SIMULATION],
    weight: 3,
    secondsMin: 5,
    setUpSeconds: 1,
  },
  {
    name: 'cluster-simulation',
    claim:
      'simulated clusters of three servers on one database, with a linearizability check: one leader at a time, every server publishes the log',
    script: [SIMULATION, '--cluster'],
    weight: 3,
    secondsMin: 5,
    setUpSeconds: 1,
  },
  {
    name: 'loss-simulation',
    claim:
      'simulated clusters whose database loses acknowledged commits at a failover: no server shows a state that the database does not have, every lost commit is reported',
    script: [SIMULATION, '--losses'],
    weight: 1,
    secondsMin: 5,
    setUpSeconds: 1,
  },
]

export type Outcome =
  | { readonly kind: 'passed' }
  | { readonly kind: 'not run'; readonly reason: string }
  | {
      readonly kind: 'failed'
      readonly reason: string
      /** Commands that repeat the failure. */
      readonly again: readonly string[]
    }

export interface ExperimentResult {
  readonly experiment: ProofExperiment
  readonly seed: number
  readonly tookMs: number
  readonly counts: Counts
  readonly outcome: Outcome
}

/** `1,204 commits, 31 kills`: for the terminal and the page. */
export function formatCounts(counts: Counts): string {
  return Object.entries(counts)
    .map(([name, count]) => `${new Intl.NumberFormat('en').format(count)} ${name}`)
    .join(', ')
}

export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  const rest = seconds % 60
  return `${Math.floor(seconds / 60)} min${rest === 0 ? '' : ` ${rest} s`}`
}

/** `11 passed, 1 not run`. */
export function formatOutcomes(results: readonly ExperimentResult[]): string {
  const kinds = ['passed', 'failed', 'not run'] as const
  const parts = kinds.map(
    (kind) => [kind, results.filter(({ outcome }) => outcome.kind === kind).length] as const,
  )
  return parts
    .filter(([kind, count]) => count > 0 || kind !== 'not run')
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', ')
}

/** Only a run in which every chosen experiment ran and passed proves something. */
export function isProved(results: readonly ExperimentResult[]): boolean {
  return results.length > 0 && results.every(({ outcome }) => outcome.kind === 'passed')
}
