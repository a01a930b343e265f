import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'

const DEPLOYMENT: ArgumentSpec = {
  usage: '<DEPLOYMENT>',
  help: 'the ID of a deployment, or a prefix of it',
  completionKind: 'deployment',
}
const DETACH: FlagSpec = { usage: '-d, --detach', help: 'do not watch the deployment' }
const LIST_FLAGS: readonly FlagSpec[] = [
  { usage: '--job <JOB>', help: 'only those of this job', completionKind: 'job' },
  { usage: '--filter <EXPRESSION>', help: 'only entries that match this expression' },
  { usage: '-v, --verbose', help: 'show full IDs' },
]

export const deploymentCommands: readonly CommandSpec[] = [
  {
    path: 'deployment list',
    summary: 'List deployments, newest first.',
    examples: [
      { line: 'reeve deployment list', says: 'deployments of the namespace' },
      { line: `reeve deployment list --filter 'Status == "running"'`, says: 'active deployments' },
    ],
    flags: LIST_FLAGS,
    isRead: true,
    load: async () => (await import('./deployment.ts')).runDeploymentList,
  },
  {
    path: 'deployment status',
    summary: 'Show the status of a deployment.',
    examples: [
      { line: 'reeve deployment status 086e', says: 'its groups and allocations' },
      {
        line: 'reeve deployment status --watch 086e',
        says: 'until it has ended; the exit code tells the result',
      },
    ],
    args: [{ ...DEPLOYMENT, usage: '[DEPLOYMENT]' }],
    flags: [{ usage: '-w, --watch', help: 'watch until the deployment has ended' }, ...LIST_FLAGS],
    isRead: true,
    load: async () => (await import('./deployment.ts')).runDeploymentStatus,
  },
  {
    path: 'deployment promote',
    summary: 'Promote the canaries of a deployment.',
    examples: [
      { line: 'reeve deployment promote 086e', says: 'in all groups' },
      { line: 'reeve deployment promote --group web 086e', says: 'in one group' },
    ],
    args: [DEPLOYMENT],
    flags: [{ usage: '--group <GROUP>', help: 'only this group', isRepeated: true }, DETACH],
    load: async () => (await import('./deployment.ts')).runDeploymentPromote,
  },
  {
    path: 'deployment fail',
    summary:
      'Mark a deployment as failed; jobs with auto-revert roll back to the last stable version.',
    examples: [{ line: 'reeve deployment fail 086e', says: 'stop the rollout' }],
    args: [DEPLOYMENT],
    load: async () => (await import('./deployment.ts')).runDeploymentFail,
  },
  {
    path: 'deployment pause',
    summary: 'Pause a deployment.',
    examples: [{ line: 'reeve deployment pause 086e', says: '"deployment resume" continues it' }],
    args: [DEPLOYMENT],
    load: async () => (await import('./deployment.ts')).runDeploymentPause,
  },
  {
    path: 'deployment resume',
    summary: 'Resume a paused deployment.',
    examples: [{ line: 'reeve deployment resume 086e', says: 'and watch it' }],
    args: [DEPLOYMENT],
    flags: [DETACH],
    load: async () => (await import('./deployment.ts')).runDeploymentResume,
  },
  {
    path: 'deployment unblock',
    summary: 'Unblock a deployment of a multi-region job.',
    examples: [
      {
        line: 'reeve deployment unblock 086e',
        says: 'complete it without waiting for the other regions',
      },
    ],
    args: [DEPLOYMENT],
    flags: [DETACH],
    load: async () => (await import('./deployment.ts')).runDeploymentUnblock,
  },
]
