import { SESSION_FLAGS } from '../alloc/commands.ts'
import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'
import { jobChangeCommands } from './change-commands.ts'

const JOB: ArgumentSpec = {
  usage: '<JOB>',
  help: 'the id of a job, or the beginning of one',
  completes: 'job',
}

const OF_TASKS: readonly FlagSpec[] = [
  { usage: '--group <NAME>', help: 'only of this group' },
  { usage: '--task <NAME>', help: 'only of this task' },
]

/** What only looks. */
const jobReadCommands: readonly CommandSpec[] = [
  {
    path: 'job status',
    aliases: ['job list', 'job ls', 'status', 'ps'],
    summary: 'List jobs, or show one with its groups and allocations.',
    examples: [
      { line: 'reeve job status', says: 'every job of the namespace' },
      { line: 'reeve job status web', says: 'one job: its groups, allocations, last deployment' },
      { line: 'reeve job status --watch web', says: 'watch its deployment until it has ended' },
      { line: 'reeve job status --namespace "*" --json', says: 'all namespaces, for machines' },
      { line: `reeve job status web -t '{{ .Job.Status }}'`, says: 'one field, for scripts' },
    ],
    args: [{ ...JOB, usage: '[JOB]' }],
    flags: [
      { usage: '-w, --watch', help: 'watch the latest deployment of the job' },
      { usage: '--all', help: 'also allocations of earlier jobs with the same id' },
      { usage: '--short', help: 'without deployment and allocations' },
      { usage: '-v, --verbose', help: 'whole ids' },
      { usage: '--filter <EXPRESSION>', help: 'list only what this is true for' },
      { usage: '--prefix <TEXT>', help: 'list only ids that begin with this' },
      { usage: '--children', help: 'also list child jobs of periodic and parameterized jobs' },
    ],
    isRead: true,
    load: async () => (await import('./status.ts')).runJobStatus,
  },
  {
    path: 'job logs',
    aliases: ['logs'],
    summary: 'Show what the tasks of a job wrote.',
    details:
      'Standard output goes to standard output, standard error to standard error. When several ' +
      'tasks or allocations are shown, each line begins with theirs. With --follow both outputs ' +
      'go to standard output, and allocations that come later are followed too.',
    examples: [
      { line: 'reeve job logs web', says: 'of the allocations that run, or of the last one' },
      { line: 'reeve job logs -f --tail 10 web', says: 'the last lines, then what comes' },
      { line: 'reeve job logs --stderr web server', says: 'the errors of one task' },
    ],
    args: [JOB, { usage: '[TASK]', help: 'only this task' }],
    flags: [
      { usage: '-f, --follow', help: 'go on until the job has ended' },
      { usage: '-n, --tail <LINES>', help: 'only the last lines of each task' },
      { usage: '--stdout', help: 'only standard output' },
      { usage: '--stderr', help: 'only standard error' },
      { usage: '--task <NAME>', help: 'only this task' },
      { usage: '--group <NAME>', help: 'only tasks of this group' },
      { usage: '--all-allocs', help: 'also of allocations that have ended' },
    ],
    load: async () => (await import('./logs.ts')).runJobLogs,
  },
  {
    path: 'job wait',
    summary: 'Wait until a batch job has ended.',
    details: 'The exit code is that of the failed task, or 0 when all tasks succeeded.',
    examples: [
      { line: 'reeve job wait report', says: 'block until the job is complete or has failed' },
    ],
    args: [JOB],
    load: async () => (await import('./wait.ts')).runJobWait,
  },
  {
    path: 'job explain',
    aliases: ['explain'],
    summary: 'Say why instances of a job have no place, and what would place them.',
    details: 'Ends with 9 when something is not placed.',
    examples: [
      { line: 'reeve job explain web', says: 'what refuses it and the smallest change that helps' },
      { line: 'reeve job explain --by-node web', says: 'node by node' },
    ],
    args: [JOB],
    flags: [
      { usage: '--by-node', help: 'each node for itself, not classes of equal ones' },
      { usage: '--limit <COUNT>', help: 'how many refusals of a group (default: 20)' },
    ],
    isRead: true,
    load: async () => (await import('./explain.ts')).runJobExplain,
  },
  {
    path: 'job allocs',
    summary: 'List the allocations of a job.',
    examples: [
      { line: 'reeve job allocs web', says: 'the newest first' },
      { line: `reeve job allocs web -t '{{ range . }}{{ .ID }} {{ end }}'`, says: 'only ids' },
    ],
    args: [JOB],
    flags: [
      { usage: '--all', help: 'also of earlier jobs with the same id' },
      { usage: '--group <NAME>', help: 'only of this group' },
      { usage: '-v, --verbose', help: 'whole ids' },
    ],
    isRead: true,
    load: async () => (await import('./allocations.ts')).runJobAllocs,
  },
  {
    path: 'job deployments',
    summary: 'List the deployments of a job.',
    examples: [
      { line: 'reeve job deployments web', says: 'the newest first' },
      { line: 'reeve job deployments --latest web', says: 'the last one, group by group' },
    ],
    args: [JOB],
    flags: [
      { usage: '--latest', help: 'only the last one, in full' },
      { usage: '--all', help: 'also of earlier jobs with the same id' },
      { usage: '-v, --verbose', help: 'whole ids' },
    ],
    isRead: true,
    load: async () => (await import('./deployments.ts')).runJobDeployments,
  },
  {
    path: 'job history',
    summary: 'List the versions of a job, and what each changed.',
    examples: [
      { line: 'reeve job history web', says: 'the versions, newest first' },
      { line: 'reeve job history --diff web', says: 'what each version changed' },
      { line: 'reeve job history --diff-version 2 --version 5 web', says: 'from version 2 to 5' },
    ],
    args: [JOB],
    flags: [
      { usage: '-p, --diff', help: 'show what each version changed' },
      { usage: '--version <NUMBER>', help: 'only this version' },
      { usage: '--diff-version <NUMBER>', help: 'compare with this version' },
      { usage: '--diff-tag <NAME>', help: 'compare with the version that has this tag' },
      { usage: '-v, --verbose', help: 'also every field of what is new' },
    ],
    isRead: true,
    load: async () => (await import('./history.ts')).runJobHistory,
  },
  {
    path: 'job verdicts',
    summary: 'List when policies denied a job, and who passed over them.',
    examples: [
      { line: 'reeve job verdicts web', says: 'the newest first, also of a job never let in' },
      { line: 'reeve job verdicts --verbose web', says: 'with what the policies said' },
    ],
    args: [JOB],
    flags: [{ usage: '-v, --verbose', help: 'also what each policy said' }],
    isRead: true,
    load: async () => (await import('./verdicts.ts')).runJobVerdicts,
  },
  {
    path: 'job actions',
    summary: 'List the named commands that the tasks of a job declare.',
    examples: [{ line: 'reeve job actions web', says: 'what "reeve job action" can run' }],
    args: [JOB],
    flags: OF_TASKS,
    isRead: true,
    load: async () => (await import('./action.ts')).runJobActions,
  },
  {
    path: 'job action',
    summary: 'Run a named command of a job inside one of its allocations.',
    details:
      'Runs it in the allocation that was placed last, unless --alloc names one. The exit code is ' +
      'that of the command.',
    examples: [
      { line: 'reeve job action web flush-cache', says: 'in one that runs' },
      { line: 'reeve job action -it --alloc 8a7f web console', says: 'in a terminal' },
    ],
    args: [JOB, { usage: '<ACTION>', help: 'its name; "reeve job actions" lists them' }],
    flags: [
      {
        usage: '--alloc <ALLOC>',
        help: 'the allocation to run it in',
        completes: 'allocation',
      },
      ...OF_TASKS,
      ...SESSION_FLAGS,
    ],
    load: async () => (await import('./action.ts')).runJobAction,
  },
  {
    path: 'job inspect',
    summary: 'Print a job as the server has it.',
    examples: [
      { line: 'reeve job inspect web', says: 'as JSON, with all defaults' },
      { line: 'reeve job inspect --hcl web > web.hcl', says: 'the file it was made from' },
      { line: `reeve job inspect web -t '{{ toJSON .Job.Meta }}'`, says: 'a part of it' },
    ],
    args: [JOB],
    flags: [
      { usage: '--version <NUMBER>', help: 'an earlier version' },
      { usage: '--hcl', help: 'the source that was submitted' },
    ],
    isRead: true,
    load: async () => (await import('./inspect.ts')).runJobInspect,
  },
]

export const jobCommands: readonly CommandSpec[] = [...jobChangeCommands, ...jobReadCommands]
