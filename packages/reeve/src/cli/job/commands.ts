import type { ArgumentSpec, CommandSpec } from '../command.ts'

const OPTIONAL_JOB: ArgumentSpec = {
  usage: '[JOB]',
  help: 'the id of a job, or the beginning of one',
  completes: 'job',
}

export const jobCommands: readonly CommandSpec[] = [
  {
    path: 'job status',
    summary: 'List jobs, or show one with its allocations.',
    examples: [
      { line: 'reeve job status', says: 'every job of the namespace' },
      { line: 'reeve job status web', says: 'one job: its groups, allocations, last deployment' },
      { line: 'reeve job status --namespace "*" --json', says: 'all namespaces, for machines' },
    ],
    args: [OPTIONAL_JOB],
    flags: [{ usage: '--all', help: 'also allocations of earlier jobs with the same id' }],
    isRead: true,
    load: async () => (await import('./status.ts')).runJobStatus,
  },
]
