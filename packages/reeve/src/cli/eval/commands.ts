import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'

const EVAL: ArgumentSpec = {
  usage: '<EVAL>',
  help: 'the id of an evaluation, or the beginning of one',
  completes: 'evaluation',
}
const VERBOSE: FlagSpec = { usage: '-v, --verbose', help: 'whole ids' }
const LIST_FLAGS: readonly FlagSpec[] = [
  { usage: '--job <JOB>', help: 'only those of this job', completes: 'job' },
  { usage: '--status <STATUS>', help: 'only those with this status' },
  { usage: '--filter <EXPRESSION>', help: 'only those it is true for' },
  { usage: '--count <NUMBER>', help: 'the newest ones (default: 50)' },
  VERBOSE,
]

export const evalCommands: readonly CommandSpec[] = [
  {
    path: 'eval list',
    summary: 'List evaluations, the newest first.',
    examples: [
      { line: 'reeve eval list', says: 'the newest ones of the namespace' },
      { line: 'reeve eval list --status blocked', says: 'what waits for room' },
    ],
    flags: LIST_FLAGS,
    isRead: true,
    load: async () => (await import('./list.ts')).runEvalList,
  },
  {
    path: 'eval status',
    summary: 'Show an evaluation: what was asked, what came of it, what has no place.',
    examples: [
      { line: 'reeve eval status 5964', says: 'one, with its allocations and relatives' },
      { line: 'reeve eval status --monitor 5964', says: 'wait until the scheduler has run' },
    ],
    args: [{ ...EVAL, usage: '[EVAL]' }],
    flags: [
      {
        usage: '--monitor',
        help: 'wait until it is no longer pending; its outcome is the exit code',
      },
      ...LIST_FLAGS,
    ],
    isRead: true,
    load: async () => (await import('./status.ts')).runEvalStatus,
  },
  {
    path: 'eval explain',
    summary: 'Say why instances were not placed, and the smallest change that would place them.',
    examples: [
      { line: 'reeve eval explain 5964', says: 'nodes of one kind together' },
      { line: 'reeve eval explain --by-node --limit 100 5964', says: 'each node by itself' },
    ],
    args: [EVAL],
    flags: [
      { usage: '--by-node', help: 'each node by itself, not nodes of one kind together' },
      { usage: '--limit <NUMBER>', help: 'refusals shown for each group (default: 20)' },
    ],
    isRead: true,
    load: async () => (await import('./explain.ts')).runEvalExplain,
  },
  {
    path: 'eval delete',
    summary: 'Delete evaluations while the broker is paused.',
    examples: [
      { line: 'reeve eval delete 5964 81f0', says: 'these' },
      { line: `reeve eval delete --filter 'JobID == "web"'`, says: 'all of a job' },
    ],
    args: [{ ...EVAL, usage: '[EVAL...]' }],
    flags: [{ usage: '--filter <EXPRESSION>', help: 'those it is true for' }],
    load: async () => (await import('./delete.ts')).runEvalDelete,
  },
]
