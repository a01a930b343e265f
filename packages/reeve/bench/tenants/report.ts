/** Prints the tables of a run. */
import { fixed, megabytes, printTable, whole } from '../measure.ts'
import {
  countsText,
  sumOf,
  verdictOf,
  VICTIM_KINDS,
  type Miss,
  type Observation,
  type VictimKind,
  type VictimSummary,
} from './statistics.ts'

export interface Row {
  readonly name: string
  readonly summary: string
  readonly alone: VictimSummary
  readonly observed: Observation
  /** The longest response time of a health probe. */
  readonly stallMs: number
  readonly ownDelayMs: number
  readonly answers: Readonly<Record<string, number>>
  readonly misses: readonly Miss[]
  /** For example that the attack was aborted. */
  readonly notes: readonly string[]
}

/** Prints one line per attack at once, because a run takes a quarter of an hour. */
export function printProgress(row: Row): void {
  const misses = row.misses.map(({ text, isMachine }) => (isMachine ? `(${text})` : text))
  const notes = [...misses, ...row.notes].join('; ')
  process.stdout.write(`${verdictOf(row.misses).padEnd(8)}${row.name.padEnd(18)}${notes}\n`)
}

export function printReport(rows: readonly Row[]): void {
  process.stdout.write(`
p99 of each kind of request in ms, and its ratio to the nearest p99 alone
stall: the longest answer to a health probe, sent every 10 ms; own: the delay of the victim itself
`)
  printTable(
    ['attack', ...VICTIM_KINDS.map((kind) => `${kind} p99 (×)`), 'stall', 'own', 'verdict'],
    rows.map((row) => [
      row.name,
      ...VICTIM_KINDS.map((kind) => latencyCell(row, kind)),
      whole(row.stallMs),
      whole(row.ownDelayMs),
      verdictOf(row.misses),
    ]),
  )
  process.stdout.write('resident memory of the server, nodes, and answers\n')
  printTable(
    [
      'attack',
      'before',
      'peak',
      'after',
      'lost nodes',
      'victim refused',
      ' answers to the attacker',
    ],
    rows.map(({ name, observed, answers, notes }) => [
      name,
      megabytes(observed.memory.beforeBytes),
      megabytes(observed.memory.peakBytes),
      megabytes(observed.memory.afterBytes),
      observed.lostNodes.join(' ') || '-',
      whole(sumOf(refusedOf(observed.victim))),
      ` ${[countsText(answers), ...notes, ...observed.repairs].filter(Boolean).join('; ')}`,
    ]),
  )
  printDetails(rows)
}

function printDetails(rows: readonly Row[]): void {
  const headings = ['attack', 'request', 'count', 'p50', 'p99', 'max', 'alone p50', 'alone p99']
  const details = rows.flatMap(({ name, observed, alone }) =>
    VICTIM_KINDS.map((kind) => {
      const { count, p50, p99, max, refused } = observed.victim[kind]
      const times = [p50, p99, max, alone[kind].p50, alone[kind].p99].map(fixed)
      const ratio = fixed(p99 / alone[kind].p99)
      return [name, kind, whole(count), ...times, ratio, countsText(refused) || '-']
    }),
  )
  printTable([...headings, 'p99 ratio', 'refused'], details)
  const missed = rows.filter(({ misses }) => misses.length > 0)
  for (const row of missed) printProgress(row)
  const met = rows.length - missed.length
  process.stdout.write(`\n${met} of ${rows.length} meet the target in full.\n`)
}

function latencyCell({ observed, alone }: Row, kind: VictimKind): string {
  const { p99 } = observed.victim[kind]
  return `${whole(p99)} (${(p99 / alone[kind].p99).toFixed(1)})`
}

function refusedOf(victim: VictimSummary): Record<string, number> {
  return Object.fromEntries(VICTIM_KINDS.map((kind) => [kind, sumOf(victim[kind].refused)]))
}
