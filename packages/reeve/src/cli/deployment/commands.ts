import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'

const DEPLOYMENT: ArgumentSpec = {
  usage: '<DEPLOYMENT>',
  help: 'the id of a deployment, or the beginning of one',
  completes: 'deployment',
}
const DETACH: FlagSpec = { usage: '-d, --detach', help: 'do not watch the deployment' }
const LIST_FLAGS: readonly FlagSpec[] = [
  { usage: '--job <JOB>', help: 'only those of this job', completes: 'job' },
  { usage: '--filter <EXPRESSION>', help: 'only those it is true for' },
  { usage: '-v, --verbose', help: 'whole ids' },
]

export const deploymentCommands: readonly CommandSpec[] = [
  {
    path: 'deployment list',
    summary: 'List deployments, the newest first.',
    examples: [
      { line: 'reeve deployment list', says: 'those of the namespace' },
      { line: `reeve deployment list --filter 'Status == "running"'`, says: 'what goes on now' },
    ],
    flags: LIST_FLAGS,
    isRead: true,
    load: async () => (await import('./list.ts')).runDeploymentList,
  },
  {
    path: 'deployment status',
    summary: 'Show how far a deployment is.',
    examples: [
      { line: 'reeve deployment status 086e', says: 'its groups and allocations' },
      {
        line: 'reeve deployment status --watch 086e',
        says: 'until it is over; then its exit code',
      },
    ],
    args: [{ ...DEPLOYMENT, usage: '[DEPLOYMENT]' }],
    flags: [{ usage: '-w, --watch', help: 'stay until it is over' }, ...LIST_FLAGS],
    isRead: true,
    load: async () => (await import('./status.ts')).runDeploymentStatus,
  },
  {
    path: 'deployment promote',
    summary: 'Promote the canaries of a deployment.',
    examples: [
      { line: 'reeve deployment promote 086e', says: 'of every group' },
      { line: 'reeve deployment promote --group web 086e', says: 'of one' },
    ],
    args: [DEPLOYMENT],
    flags: [{ usage: '--group <GROUP>', help: 'only this group', isRepeated: true }, DETACH],
    load: async () => (await import('./change.ts')).runDeploymentPromote,
  },
  {
    path: 'deployment fail',
    summary: 'Mark a deployment as failed; jobs that say so go back to what was stable.',
    examples: [{ line: 'reeve deployment fail 086e', says: 'end it' }],
    args: [DEPLOYMENT],
    load: async () => (await import('./change.ts')).runDeploymentFail,
  },
  {
    path: 'deployment pause',
    summary: 'Keep a deployment from placing more.',
    examples: [{ line: 'reeve deployment pause 086e', says: '"deployment resume" lets it go on' }],
    args: [DEPLOYMENT],
    load: async () => (await import('./change.ts')).runDeploymentPause,
  },
  {
    path: 'deployment resume',
    summary: 'Let a paused deployment go on.',
    examples: [{ line: 'reeve deployment resume 086e', says: 'and watch it' }],
    args: [DEPLOYMENT],
    flags: [DETACH],
    load: async () => (await import('./change.ts')).runDeploymentResume,
  },
  {
    path: 'deployment unblock',
    summary: 'Let a deployment of a job in several regions go on.',
    examples: [{ line: 'reeve deployment unblock 086e', says: 'without waiting for the others' }],
    args: [DEPLOYMENT],
    flags: [DETACH],
    load: async () => (await import('./change.ts')).runDeploymentUnblock,
  },
]
