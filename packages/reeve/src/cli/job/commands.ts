import { SESSION_FLAGS } from '../alloc/commands.ts'
import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'
import { jobWriteCommands } from './write-commands.ts'

const JOB: ArgumentSpec = {
  usage: '<JOB>',
  help: 'the ID of a job, or a prefix of it',
  completionKind: 'job',
}

const TASK_FILTER_FLAGS: readonly FlagSpec[] = [
  { usage: '--group <NAME>', help: 'only of this group' },
  { usage: '--task <NAME>', help: 'only of this task' },
]

/** Commands that only read. */
const jobReadCommands: readonly CommandSpec[] = [
  {
    path: 'job status',
    aliases: ['job list', 'job ls', 'status', 'ps'],
    summary: 'List jobs, or show one with its groups and allocations.',
    examples: [
      { line: 'reeve job status', says: 'all jobs of the namespace' },
      { line: 'reeve job status web', says: 'one job: groups, allocations, latest deployment' },
      {
        line: 'reeve job status --watch web',
        says: 'watch the latest deployment until it has ended',
      },
      { line: 'reeve job status --namespace "*" --json', says: 'all namespaces, as JSON' },
      { line: `reeve job status web -t '{{ .Job.Status }}'`, says: 'one field, for scripts' },
    ],
    args: [{ ...JOB, usage: '[JOB]' }],
    flags: [
      { usage: '-w, --watch', help: 'watch the latest deployment of the job' },
      { usage: '--all', help: 'include allocations of earlier jobs with the same ID' },
      { usage: '--short', help: 'omit deployment and allocations' },
      { usage: '-v, --verbose', help: 'show full IDs' },
      { usage: '--filter <EXPRESSION>', help: 'only jobs that match this expression' },
      { usage: '--prefix <TEXT>', help: 'only jobs whose ID starts with this text' },
      { usage: '--children', help: 'also list child jobs of periodic and parameterized jobs' },
    ],
    isRead: true,
    load: async () => (await import('./status.ts')).runJobStatus,
  },
  {
    path: 'job logs',
    aliases: ['logs'],
    summary: 'Show the logs of a job.',
    details:
      'Standard error of the tasks is printed to standard error. With several tasks or ' +
      'allocations, each line is prefixed with the allocation and the task. With --follow ' +
      'both outputs go to standard output, and new allocations are followed as they start.',
    examples: [
      { line: 'reeve job logs web', says: 'of the running allocations, or of the last one' },
      { line: 'reeve job logs -f --tail 10 web', says: 'the last ten lines, then follow' },
      { line: 'reeve job logs --stderr web server', says: 'standard error of one task' },
      { line: 'reeve job logs web/api[1]', says: 'of one allocation' },
    ],
    args: [JOB, { usage: '[TASK]', help: 'only this task' }],
    flags: [
      { usage: '-f, --follow', help: 'follow the logs until the job has ended' },
      { usage: '-n, --tail <LINES>', help: 'only the last lines of each task' },
      { usage: '--stdout', help: 'only standard output' },
      { usage: '--stderr', help: 'only standard error' },
      { usage: '--task <NAME>', help: 'only this task' },
      { usage: '--group <NAME>', help: 'only tasks of this group' },
      { usage: '--index <NUMBER>', help: 'only the allocation with this index' },
      { usage: '--all-allocs', help: 'include terminal allocations' },
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
    load: async () => (await import('./monitor-submission.ts')).runJobWait,
  },
  {
    path: 'job explain',
    aliases: ['explain'],
    summary: 'Explain why allocations of a job cannot be placed and what would place them.',
    details: 'Exits with 9 if an allocation is not placed.',
    examples: [
      {
        line: 'reeve job explain web',
        says: 'the constraints that reject nodes and the smallest change that helps',
      },
      { line: 'reeve job explain --by-node web', says: 'node by node' },
    ],
    args: [JOB],
    flags: [
      { usage: '--by-node', help: 'list each node instead of node classes' },
      { usage: '--limit <COUNT>', help: 'rejections shown per group (default: 20)' },
    ],
    isRead: true,
    load: async () => (await import('./read.ts')).runJobExplain,
  },
  {
    path: 'job allocs',
    summary: 'List the allocations of a job.',
    examples: [
      { line: 'reeve job allocs web', says: 'newest first' },
      { line: `reeve job allocs web -t '{{ range . }}{{ .ID }} {{ end }}'`, says: 'only IDs' },
    ],
    args: [JOB],
    flags: [
      { usage: '--all', help: 'include earlier jobs with the same ID' },
      { usage: '--group <NAME>', help: 'only of this group' },
      { usage: '-v, --verbose', help: 'show full IDs' },
    ],
    isRead: true,
    load: async () => (await import('./read.ts')).runJobAllocs,
  },
  {
    path: 'job deployments',
    summary: 'List the deployments of a job.',
    examples: [
      { line: 'reeve job deployments web', says: 'newest first' },
      { line: 'reeve job deployments --latest web', says: 'the latest deployment, group by group' },
    ],
    args: [JOB],
    flags: [
      { usage: '--latest', help: 'only the latest deployment, in detail' },
      { usage: '--all', help: 'include earlier jobs with the same ID' },
      { usage: '-v, --verbose', help: 'show full IDs' },
    ],
    isRead: true,
    load: async () => (await import('./read.ts')).runJobDeployments,
  },
  {
    path: 'job history',
    summary: 'List the versions of a job.',
    examples: [
      { line: 'reeve job history web', says: 'the versions, newest first' },
      { line: 'reeve job history --diff web', says: 'with the diff of each version' },
      {
        line: 'reeve job history --diff-version 2 --version 5 web',
        says: 'the diff from version 2 to 5',
      },
    ],
    args: [JOB],
    flags: [
      { usage: '-p, --diff', help: 'show the diff of each version' },
      { usage: '--version <NUMBER>', help: 'only this version' },
      { usage: '--diff-version <NUMBER>', help: 'compare with this version' },
      { usage: '--diff-tag <NAME>', help: 'compare with the version that has this tag' },
      { usage: '-v, --verbose', help: 'show every field of added objects' },
    ],
    isRead: true,
    load: async () => (await import('./read.ts')).runJobHistory,
  },
  {
    path: 'job verdicts',
    summary: 'List policy denials and overrides of a job.',
    examples: [
      {
        line: 'reeve job verdicts web',
        says: 'newest first, also for jobs that were never accepted',
      },
      { line: 'reeve job verdicts --verbose web', says: 'with the output of the policies' },
    ],
    args: [JOB],
    flags: [{ usage: '-v, --verbose', help: 'include the output of each policy' }],
    isRead: true,
    load: async () => (await import('./read.ts')).runJobVerdicts,
  },
  {
    path: 'job actions',
    summary: 'List the named commands that the tasks of a job declare.',
    examples: [
      { line: 'reeve job actions web', says: 'the actions that "reeve job action" can run' },
    ],
    args: [JOB],
    flags: TASK_FILTER_FLAGS,
    isRead: true,
    load: async () => (await import('./action.ts')).runJobActions,
  },
  {
    path: 'job action',
    summary: 'Run a named command of a job inside one of its allocations.',
    details:
      'Runs in the newest running allocation, unless --alloc names another one. The exit ' +
      'code is that of the command.',
    examples: [
      { line: 'reeve job action web flush-cache', says: 'in a running allocation' },
      { line: 'reeve job action -it --alloc 8a7f web console', says: 'in a terminal' },
    ],
    args: [JOB, { usage: '<ACTION>', help: 'name of the action, from "reeve job actions"' }],
    flags: [
      {
        usage: '--alloc <ALLOC>',
        help: 'the allocation to run it in',
        completionKind: 'allocation',
      },
      ...TASK_FILTER_FLAGS,
      ...SESSION_FLAGS,
    ],
    load: async () => (await import('./action.ts')).runJobAction,
  },
  {
    path: 'job inspect',
    summary: 'Print a job as stored by the server.',
    examples: [
      { line: 'reeve job inspect web', says: 'as JSON, with all defaults' },
      { line: 'reeve job inspect --hcl web > web.hcl', says: 'the submitted job file' },
      { line: `reeve job inspect web -t '{{ toJSON .Job.Meta }}'`, says: 'one field' },
    ],
    args: [JOB],
    flags: [
      { usage: '--version <NUMBER>', help: 'an earlier version' },
      { usage: '--hcl', help: 'print the submitted source' },
    ],
    isRead: true,
    load: async () => (await import('./read.ts')).runJobInspect,
  },
]

export const jobCommands: readonly CommandSpec[] = [...jobWriteCommands, ...jobReadCommands]
