import type { CommandSpec, FlagSpec } from '../command.ts'

function setting(name: string, help: string): FlagSpec {
  return { usage: `--${name} <true|false>`, help }
}

export const operatorCommands: readonly CommandSpec[] = [
  {
    path: 'operator api',
    summary: 'Send a request to the API and print the response.',
    details: 'Uses the address, the token and the TLS settings of the command line.',
    examples: [
      { line: 'reeve operator api /v1/jobs', says: 'GET' },
      {
        line: 'reeve operator api --data @job.json /v1/jobs',
        says: 'POST with a body from a file',
      },
      {
        line: 'reeve operator api -X DELETE --include /v1/job/web',
        says: 'another method; print status and headers too',
      },
    ],
    args: [
      { usage: '<PATH>', help: 'a path of the API with its query, such as /v1/nodes?prefix=8a' },
    ],
    flags: [
      { usage: '-X, --method <METHOD>', help: 'GET, HEAD, POST, PUT, PATCH or DELETE' },
      { usage: '--data <TEXT>', help: 'the body; "@FILE" reads a file, "@-" standard input' },
      { usage: '--header <NAME: VALUE>', help: 'an additional header', isRepeated: true },
      { usage: '-i, --include', help: 'print the status and the headers too' },
    ],
    load: async () => (await import('./operator.ts')).runOperatorApi,
  },
  {
    path: 'operator debug',
    summary: 'Collect diagnostic data into a directory, without secrets.',
    details:
      'Health, members, metrics, nodes, jobs, allocations, and recent evaluations and deployments. ' +
      'Environment variables, templates and variables are not included.',
    examples: [
      { line: 'reeve operator debug', says: 'into reeve-debug-<time>' },
      { line: 'reeve operator debug incident-42', says: 'into a directory of this name' },
    ],
    args: [{ usage: '[DIRECTORY]', help: 'a directory that does not exist yet' }],
    load: async () => (await import('./operator.ts')).runOperatorDebug,
  },
  {
    path: 'operator scheduler get-config',
    summary: 'Show the scheduler configuration.',
    examples: [{ line: 'reeve operator scheduler get-config', says: 'of the region' }],
    isRead: true,
    load: async () => (await import('./operator.ts')).runSchedulerGetConfig,
  },
  {
    path: 'operator scheduler set-config',
    summary: 'Update the scheduler configuration; settings that are not given are kept.',
    examples: [
      {
        line: 'reeve operator scheduler set-config --scheduler-algorithm spread',
        says: 'spread allocations evenly',
      },
      {
        line: 'reeve operator scheduler set-config --pause-eval-broker true',
        says: 'stop processing evaluations',
      },
    ],
    flags: [
      { usage: '--scheduler-algorithm <NAME>', help: '"binpack" or "spread"' },
      setting('memory-oversubscription', 'allow tasks to use memory_max'),
      setting('reject-job-registration', 'reject job registrations without a management token'),
      setting('pause-eval-broker', 'pause the evaluation broker'),
      setting('preempt-system', 'allow preemption by system jobs'),
      setting('preempt-sysbatch', 'allow preemption by sysbatch jobs'),
      setting('preempt-batch', 'allow preemption by batch jobs'),
      setting('preempt-service', 'allow preemption by service jobs'),
      { usage: '--check-index <INDEX>', help: 'only if the configuration has this modify index' },
    ],
    load: async () => (await import('./operator.ts')).runSchedulerSetConfig,
  },
  {
    path: 'operator upgrade status',
    summary: 'Show the cluster level, and whether an upgrade can be finished.',
    details:
      'Servers write the formats of the cluster level. Until it is raised, servers and nodes can ' +
      'go back to the version before.',
    examples: [{ line: 'reeve operator upgrade status', says: 'of the region' }],
    isRead: true,
    load: async () => (await import('./operator.ts')).runUpgradeStatus,
  },
  {
    path: 'operator upgrade finish',
    summary: 'Finish an upgrade: raise the cluster level to the version of the servers.',
    details:
      'Rejected while a server runs an older version. Afterwards older versions do not start on ' +
      'this state.',
    examples: [{ line: 'reeve operator upgrade finish', says: 'after all servers and nodes' }],
    load: async () => (await import('./operator.ts')).runUpgradeFinish,
  },
  {
    path: 'operator database accept-loss',
    summary: 'Accept writes again after the database has lost acknowledged commits.',
    details:
      'After a failover to a lagging standby, or after restoring an older backup, ' +
      'acknowledged commits may be missing. Servers then serve reads and reject writes ' +
      'until this command is run or the database with the missing commits is back.',
    examples: [
      { line: 'reeve operator database accept-loss', says: 'continue without the lost commits' },
    ],
    load: async () => (await import('./operator.ts')).runAcceptLoss,
  },
  {
    path: 'system gc',
    summary: 'Run garbage collection now, regardless of age.',
    examples: [
      { line: 'reeve system gc', says: 'terminal jobs, evaluations, allocations and nodes' },
    ],
    load: async () => (await import('./operator.ts')).runSystemGc,
  },
  {
    path: 'system reconcile summaries',
    summary: 'Recompute the summaries of all jobs.',
    examples: [{ line: 'reeve system reconcile summaries', says: 'if a summary is inconsistent' }],
    load: async () => (await import('./operator.ts')).runSystemReconcile,
  },
  {
    path: 'server members',
    summary: 'List the servers of all regions and the leaders.',
    examples: [{ line: 'reeve server members', says: 'addresses, versions, status and leader' }],
    isRead: true,
    load: async () => (await import('./operator.ts')).runServerMembers,
  },
  {
    path: 'server force-leave',
    summary: 'Mark a failed server as left, or remove it from the list.',
    details: 'A server that is alive leaves the cluster when it is stopped.',
    examples: [
      { line: 'reeve server force-leave server-3', says: 'the server does not come back' },
      { line: 'reeve server force-leave --prune server-3', says: 'and is no longer listed' },
    ],
    args: [{ usage: '<NAME>', help: 'name of the server' }],
    flags: [{ usage: '--prune', help: 'remove it from the list of members' }],
    load: async () => (await import('./operator.ts')).runServerForceLeave,
  },
]
