import type { CommandSpec, FlagSpec } from '../command.ts'

function setting(name: string, help: string): FlagSpec {
  return { usage: `--${name} <true|false>`, help }
}

export const operatorCommands: readonly CommandSpec[] = [
  {
    path: 'operator scheduler get-config',
    summary: 'Show the settings of the scheduler.',
    examples: [{ line: 'reeve operator scheduler get-config', says: 'those of the region' }],
    isRead: true,
    load: async () => (await import('./scheduler.ts')).runSchedulerGetConfig,
  },
  {
    path: 'operator scheduler set-config',
    summary: 'Change the settings of the scheduler that are named.',
    examples: [
      {
        line: 'reeve operator scheduler set-config --scheduler-algorithm spread',
        says: 'use all nodes alike',
      },
      {
        line: 'reeve operator scheduler set-config --pause-eval-broker true',
        says: 'place nothing for now',
      },
    ],
    flags: [
      { usage: '--scheduler-algorithm <NAME>', help: '"binpack" or "spread"' },
      setting('memory-oversubscription', 'tasks may use more memory than they reserve'),
      setting('reject-job-registration', 'only management tokens may register jobs'),
      setting('pause-eval-broker', 'hand out no evaluations'),
      setting('preempt-system', 'system jobs may displace others'),
      setting('preempt-sysbatch', 'sysbatch jobs may displace others'),
      setting('preempt-batch', 'batch jobs may displace others'),
      setting('preempt-service', 'service jobs may displace others'),
      { usage: '--check-index <INDEX>', help: 'only if nobody changed them since' },
    ],
    load: async () => (await import('./scheduler.ts')).runSchedulerSetConfig,
  },
  {
    path: 'operator database accept-loss',
    summary: 'Accept writes again after the database has lost acknowledged commits.',
    details:
      'After a failover to a standby that was behind, or after the restore of an older backup, ' +
      'servers find commits missing that they had acknowledged. They serve reads and refuse writes ' +
      'until this command is run, or the database that has the commits is back.',
    examples: [
      { line: 'reeve operator database accept-loss', says: 'go on without the lost commits' },
    ],
    load: async () => (await import('./database.ts')).runAcceptLoss,
  },
  {
    path: 'system gc',
    summary: 'Remove everything that has ended, whatever its age.',
    examples: [{ line: 'reeve system gc', says: 'jobs, evaluations, allocations, nodes' }],
    load: async () => (await import('./system.ts')).runSystemGc,
  },
  {
    path: 'system reconcile summaries',
    summary: 'Count the allocations of every job again.',
    examples: [{ line: 'reeve system reconcile summaries', says: 'when a summary is wrong' }],
    load: async () => (await import('./system.ts')).runSystemReconcile,
  },
  {
    path: 'server members',
    summary: 'List the servers of every region, with their state, and who leads.',
    examples: [{ line: 'reeve server members', says: 'addresses, versions, and who leads' }],
    isRead: true,
    load: async () => (await import('./system.ts')).runServerMembers,
  },
]
