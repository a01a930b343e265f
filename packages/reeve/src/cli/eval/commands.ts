import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'

const EVAL: ArgumentSpec = {
  usage: '<EVAL>',
  help: 'the ID of an evaluation, or a prefix of it',
  completionKind: 'evaluation',
}
const VERBOSE: FlagSpec = { usage: '-v, --verbose', help: 'show full IDs' }
const LIST_FLAGS: readonly FlagSpec[] = [
  { usage: '--job <JOB>', help: 'only those of this job', completionKind: 'job' },
  { usage: '--status <STATUS>', help: 'only those with this status' },
  { usage: '--filter <EXPRESSION>', help: 'only entries that match this expression' },
  { usage: '--count <NUMBER>', help: 'number of entries (default: 50)' },
  VERBOSE,
]

export const evalCommands: readonly CommandSpec[] = [
  {
    path: 'eval list',
    summary: 'List evaluations, newest first.',
    examples: [
      { line: 'reeve eval list', says: 'the newest evaluations of the namespace' },
      { line: 'reeve eval list --status blocked', says: 'evaluations that wait for capacity' },
    ],
    flags: LIST_FLAGS,
    isRead: true,
    load: async () => (await import('./evaluation.ts')).runEvalList,
  },
  {
    path: 'eval status',
    summary: 'Show an evaluation: trigger, result and failed placements.',
    examples: [
      {
        line: 'reeve eval status 5964',
        says: 'one evaluation with its allocations and related evaluations',
      },
      {
        line: 'reeve eval status --monitor 5964',
        says: 'wait until the scheduler has processed it',
      },
    ],
    args: [{ ...EVAL, usage: '[EVAL]' }],
    flags: [
      {
        usage: '--monitor',
        help: 'wait until it is no longer pending; the exit code tells the result',
      },
      ...LIST_FLAGS,
    ],
    isRead: true,
    load: async () => (await import('./evaluation.ts')).runEvalStatus,
  },
  {
    path: 'eval explain',
    summary: 'Explain failed placements and the smallest change that would place them.',
    examples: [
      { line: 'reeve eval explain 5964', says: 'grouped by node class' },
      { line: 'reeve eval explain --by-node --limit 100 5964', says: 'node by node' },
    ],
    args: [EVAL],
    flags: [
      { usage: '--by-node', help: 'list each node instead of node classes' },
      { usage: '--limit <NUMBER>', help: 'rejections shown per group (default: 20)' },
    ],
    isRead: true,
    load: async () => (await import('./evaluation.ts')).runEvalExplain,
  },
  {
    path: 'eval delete',
    summary: 'Delete evaluations while the evaluation broker is paused.',
    examples: [
      { line: 'reeve eval delete 5964 81f0', says: 'two evaluations' },
      { line: `reeve eval delete --filter 'JobID == "web"'`, says: 'all evaluations of a job' },
    ],
    args: [{ ...EVAL, usage: '[EVAL...]' }],
    flags: [
      { usage: '--filter <EXPRESSION>', help: 'delete evaluations that match this expression' },
    ],
    load: async () => (await import('./evaluation.ts')).runEvalDelete,
  },
]
