import { formatCounts, formatDuration, formatOutcomes, type ExperimentResult } from './result.ts'

export interface Machine {
  readonly cores: number
  readonly processor: string
  readonly memoryGiB: number
  readonly fileSystem: string
  readonly system: string
  readonly node: string
  /** Undefined where it is not installed. */
  readonly postgres: string | undefined
  /** Of the last minute, when the run began: other work on the machine. */
  readonly load: number
}

/** What was tested, and where. */
export interface ProofPlace {
  readonly commit: string
  /** The checkout differed from the commit. */
  readonly isModified: boolean
  readonly machine: Machine
}

export interface ProofRun extends ProofPlace {
  readonly startedMs: number
  readonly minutes: number
  readonly tookMs: number
  readonly seed: number
  readonly results: readonly ExperimentResult[]
}

/** Faults that no experiment injects. A reader must not take the page for more than it is. */
const NOT_TESTED = [
  'Power loss of a real machine. Processes are killed and files are cut at any byte; the caches of a controller or disk that lose power are not part of it.',
  'Disks that acknowledge an fsync and do not write, or that return other bytes than were written without an error. Bytes that changed on the disk are tested; they are found by checksums.',
  'Network partitions between real hosts. Real processes run on one machine, where they are killed and paused; partitions, delays and lost messages are simulated.',
  'Clock jumps of a real machine. Clocks jump in the simulation, whose loops and clock interface are those of the product.',
  'Nodes that lie on purpose, and servers that do (Byzantine faults). Authentication and the checks of what nodes report have tests of their own.',
  'Failures of PostgreSQL besides crash, pause, failover and lost commits, such as corrupt pages; and hosted databases with a proxy of their own.',
  'Container engines: tasks of these experiments are processes of the drivers `raw_exec` and `exec`.',
  'More than one region, and clusters of more than three servers.',
  'Long runs: the length is below. Growth over weeks, such as leaks of memory or file descriptors, does not show in it.',
  'Other processors, kernels and file systems than those below.',
] as const

export function renderPage(run: ProofRun): string {
  const failures = run.results.filter(({ outcome }) => outcome.kind === 'failed')
  return [
    '# Proof',
    '',
    'Results of `npm run proof`, which repeats the experiments on durability and recovery: real processes are killed, files are damaged, disks and memory fill up, databases fail over, clocks jump. The command has written this page; nobody has edited it.',
    '',
    `**${formatOutcomes(run.results)}** in ${formatDuration(run.tookMs)}.`,
    '',
    ...aboutLines(run),
    '',
    '## Experiments',
    '',
    '| Experiment | Result | Counts | Seed | Duration |',
    '|---|---|---|---|---|',
    ...run.results.map(resultLine),
    '',
    ...failures.flatMap(failureLines),
    '## Claims',
    '',
    'An experiment passes when all of this held to its end.',
    '',
    '| Experiment | Claim |',
    '|---|---|',
    ...run.results.map(({ experiment: { name, claim } }) => `| \`${name}\` | ${claim} |`),
    '',
    '## What was not tested',
    '',
    ...NOT_TESTED.map((line) => `- ${line}`),
    '',
    '## Repeat it',
    '',
    '```',
    `git checkout ${run.commit}`,
    `npm run proof -- --minutes ${run.minutes} --seed ${run.seed}`,
    `npm run proof -- --minutes ${run.minutes}          with a fresh seed`,
    'npm run proof -- --help',
    '```',
    '',
    'Linux, root (file systems are mounted, tasks are isolated) and PostgreSQL are needed; experiments that cannot run are listed as not run, and the command then exits with 1, as after a failure. The seed decides what is injected and, in the simulation, everything that happens; real processes have a timing of their own, so a failure of theirs may need several runs to appear again.',
    '',
  ].join('\n')
}

function aboutLines({ machine, ...run }: ProofRun): readonly string[] {
  const rows: readonly (readonly [string, string])[] = [
    ['commit', `\`${run.commit}\`${run.isModified ? ', with uncommitted changes' : ''}`],
    ['date', new Date(run.startedMs).toISOString().replace(/\.\d+Z$/, 'Z')],
    ['length', `${run.minutes} min planned, ${formatDuration(run.tookMs)} taken`],
    ['seed', String(run.seed)],
    ['machine', `${machine.cores} cores (${machine.processor}), ${machine.memoryGiB} GiB memory`],
    ['load at the start', machine.load.toFixed(1)],
    ['file system', machine.fileSystem],
    ['system', machine.system],
    ['Node.js', machine.node],
    ['PostgreSQL', machine.postgres ?? 'not installed'],
  ]
  return ['| | |', '|---|---|', ...rows.map(([name, value]) => `| ${name} | ${value} |`)]
}

function resultLine({ experiment, outcome, counts, seed, tookMs }: ExperimentResult): string {
  const result = outcome.kind === 'not run' ? `not run: ${outcome.reason}` : outcome.kind
  const cells = [
    `\`${experiment.name}\``,
    outcome.kind === 'failed' ? '**failed**' : result,
    formatCounts(counts),
    String(seed),
    formatDuration(tookMs),
  ]
  return `| ${cells.map(escapeCell).join(' | ')} |`
}

function failureLines({ experiment, outcome }: ExperimentResult): readonly string[] {
  if (outcome.kind !== 'failed') return []
  return [
    `\`${experiment.name}\` failed: ${escapeCell(outcome.reason)}`,
    '',
    '```',
    ...outcome.again,
    '```',
    '',
  ]
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}
