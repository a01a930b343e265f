import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'

const JOB: ArgumentSpec = {
  usage: '<JOB>',
  help: 'the ID of a job, or a prefix of it',
  completionKind: 'job',
}
const FILE: ArgumentSpec = {
  usage: '<FILE>',
  help: 'a job file in HCL or JSON; "-" reads standard input',
  completionKind: 'file',
}
const VARIABLE_FLAGS: readonly FlagSpec[] = [
  { usage: '--var <KEY=VALUE>', help: 'set a variable of the job file', isRepeated: true },
  {
    usage: '--var-file <FILE>',
    help: 'a file with variable values',
    isRepeated: true,
    completionKind: 'file',
  },
  { usage: '--allow-unknown-vars', help: 'ignore variables that the job file does not declare' },
  { usage: '--hcl1', help: 'parse the file as HCL 1' },
]
const WATCH_FLAGS: readonly FlagSpec[] = [
  { usage: '-d, --detach', help: 'return without watching the deployment' },
  { usage: '--wait-for-capacity', help: 'keep watching while allocations wait for capacity' },
]
const WAIT: FlagSpec = {
  usage: '--wait',
  help: 'wait until a batch job has ended; exit with the exit code of its tasks',
}
const OVERRIDE: readonly FlagSpec[] = [
  { usage: '--policy-override', help: 'override soft-mandatory policy failures' },
]
const OVERRIDE_WITH_COMMENT: readonly FlagSpec[] = [
  ...OVERRIDE,
  { usage: '--override-comment <TEXT>', help: 'comment, stored with the override' },
]
const MESSAGE: FlagSpec = {
  usage: '--message <TEXT>',
  help: 'why the job changes, stored with the version',
}
const EXIT_CODES_TEXT =
  'Exits with 0 when the job runs, 1 when its deployment failed, 9 when allocations are unplaced.'

/** Commands that write jobs or job files. */
export const jobWriteCommands: readonly CommandSpec[] = [
  {
    path: 'job init',
    summary: 'Write an example job file.',
    examples: [
      { line: 'reeve job init', says: 'a service, in example.hcl' },
      { line: 'reeve job init --kind batch report.hcl', says: 'a batch job' },
    ],
    args: [{ usage: '[FILE]', help: 'the file to write (default: example.hcl); "-" prints it' }],
    flags: [
      { usage: '--kind <KIND>', help: 'service, batch, periodic, parameterized or system' },
      { usage: '--force', help: 'overwrite an existing file' },
    ],
    load: async () => (await import('./local-files.ts')).runJobInit,
  },
  {
    path: 'job validate',
    summary: 'Validate a job file without submitting it.',
    examples: [
      { line: 'reeve job validate web.hcl', says: 'list all errors with their positions' },
      { line: 'reeve job validate --var count=3 web.hcl', says: 'with a variable' },
    ],
    args: [FILE],
    flags: VARIABLE_FLAGS,
    isRead: true,
    load: async () => (await import('./submit.ts')).runJobValidate,
  },
  {
    path: 'job fmt',
    aliases: ['fmt'],
    summary: 'Format job files.',
    details:
      'Sets indentation, spaces and the columns of equals signs; comments, blank lines, strings and ' +
      'heredocs are kept. Without a path it formats the *.hcl and *.reeve files of this directory.',
    examples: [
      { line: 'reeve job fmt web.hcl', says: 'rewrite a file, and print its name if it changed' },
      {
        line: 'reeve job fmt --check --recursive jobs',
        says: 'exit with 1 if a file would change',
      },
      { line: 'reeve job fmt - < web.hcl', says: 'from standard input to standard output' },
    ],
    args: [
      {
        usage: '[PATH...]',
        help: 'files, or directories of them; "-" formats standard input',
        completionKind: 'file',
      },
    ],
    flags: [
      { usage: '--check', help: 'change nothing; exit with 1 if a file is not formatted' },
      { usage: '--no-list', help: 'do not print the names of changed files' },
      { usage: '--no-write', help: 'do not write; only print the names' },
      { usage: '-r, --recursive', help: 'include the directories below' },
    ],
    load: async () => (await import('./local-files.ts')).runJobFmt,
  },
  {
    path: 'job plan',
    aliases: ['plan'],
    summary: 'Show what running a job file would change.',
    details:
      'Prints the diff of the job, the effect on its allocations, failed placements with ' +
      'their reasons, policy results, and the command that submits exactly this version. ' +
      'Exits with 0 if nothing would change, 3 if something would, 8 if a policy denies it, ' +
      '9 if allocations could not be placed.',
    examples: [
      { line: 'reeve job plan web.hcl', says: 'the plan' },
      { line: 'reeve job plan --json web.hcl', says: 'as JSON' },
      { line: 'cat web.hcl | reeve job plan -', says: 'from standard input' },
    ],
    args: [FILE],
    flags: [
      ...VARIABLE_FLAGS,
      ...OVERRIDE,
      { usage: '--no-diff', help: 'omit the diff of the job' },
      { usage: '-v, --verbose', help: 'show every field of added objects' },
    ],
    isRead: true,
    load: async () => (await import('./submit.ts')).runJobPlan,
  },
  {
    path: 'job run',
    summary: 'Submit a job file: create a job or a new version of it.',
    details:
      `Watches the evaluation and the deployment until they have ended. ${EXIT_CODES_TEXT} ` +
      'Ctrl-C stops watching; the job is not affected.',
    examples: [
      { line: 'reeve job run web.hcl', says: 'submit and watch the deployment' },
      {
        line: 'reeve job run --check-index 15 web.hcl',
        says: 'only if the job has not changed since "job plan"',
      },
      { line: 'reeve job run --detach --var count=3 web.hcl', says: 'submit and return at once' },
    ],
    args: [FILE],
    flags: [
      ...WATCH_FLAGS,
      WAIT,
      {
        usage: '--check-index <INDEX>',
        help: 'only if the job has this modify index; 0: only if it does not exist',
      },
      MESSAGE,
      ...OVERRIDE_WITH_COMMENT,
      ...VARIABLE_FLAGS,
      { usage: '--preserve-counts', help: 'keep the current counts of existing groups' },
      { usage: '--eval-priority <NUMBER>', help: 'priority of the evaluation' },
      { usage: '--output', help: 'print the request instead of sending it' },
    ],
    isRead: true,
    load: async () => (await import('./submit.ts')).runJobRun,
  },
  {
    path: 'job stop',
    aliases: ['stop'],
    summary: 'Stop jobs.',
    examples: [
      { line: 'reeve job stop web', says: '"reeve job start web" starts it again' },
      { line: 'reeve job stop --purge web', says: 'stop the job and purge it' },
    ],
    args: [{ ...JOB, usage: '<JOB...>' }],
    flags: [
      { usage: '--purge', help: 'purge the job and all its versions' },
      { usage: '--global', help: 'in all regions of a multi-region job' },
      { usage: '--no-shutdown-delay', help: 'skip the shutdown delay of the tasks' },
      { usage: '-d, --detach', help: 'do not wait for the evaluation' },
      { usage: '--eval-priority <NUMBER>', help: 'priority of the evaluation' },
      { usage: '-y, --yes', help: 'skip the confirmation' },
    ],
    isRead: true,
    load: async () => (await import('./write.ts')).runJobStop,
  },
  {
    path: 'job start',
    summary: 'Start a stopped job.',
    examples: [{ line: 'reeve job start web', says: 'start and watch the deployment' }],
    args: [JOB],
    flags: [...WATCH_FLAGS, ...OVERRIDE_WITH_COMMENT],
    isRead: true,
    load: async () => (await import('./write.ts')).runJobStart,
  },
  {
    path: 'job restart',
    summary: 'Restart the tasks of a job, a few allocations at a time.',
    examples: [
      { line: 'reeve job restart web', says: 'one allocation at a time, in place' },
      {
        line: 'reeve job restart --batch-size 25% --reschedule web',
        says: 'replace 25% of the allocations at a time',
      },
      { line: 'reeve job restart --batch-wait 30s web', says: 'wait between batches' },
    ],
    args: [JOB],
    flags: [
      { usage: '--group <NAME>', help: 'only allocations of this group', isRepeated: true },
      { usage: '--task <NAME>', help: 'only this task', isRepeated: true },
      { usage: '--all-tasks', help: 'include tasks that have terminated' },
      {
        usage: '--batch-size <COUNT>',
        help: 'allocations per batch, such as 2 or 25% (default: 1)',
      },
      {
        usage: '--batch-wait <DURATION>',
        help: 'pause between batches, such as 30s; "ask" asks before each batch',
      },
      {
        usage: '--on-error <WHAT>',
        help: 'on a failed restart: "fail" stops, "ask" asks (default: ask on a terminal, else fail)',
      },
      {
        usage: '--reschedule',
        help: 'reschedule the allocations instead of restarting them in place',
      },
      { usage: '-y, --yes', help: 'skip the confirmations' },
    ],
    isRead: true,
    load: async () => (await import('./restart.ts')).runJobRestart,
  },
  {
    path: 'job revert',
    summary: 'Revert a job to an earlier version.',
    examples: [
      { line: 'reeve job revert web', says: 'the last stable version' },
      { line: 'reeve job revert web 3', says: 'version 3' },
      { line: 'reeve job revert web golden', says: 'the version with this tag' },
    ],
    args: [
      JOB,
      { usage: '[VERSION]', help: 'version number or tag (default: the last stable version)' },
    ],
    flags: [
      ...WATCH_FLAGS,
      ...OVERRIDE_WITH_COMMENT,
      MESSAGE,
      { usage: '--check-version <NUMBER>', help: 'only if this is the current version' },
    ],
    isRead: true,
    load: async () => (await import('./write.ts')).runJobRevert,
  },
  {
    path: 'job scale',
    summary: 'Scale a group, or show the counts.',
    examples: [
      { line: 'reeve job scale web', says: 'the counts of its groups' },
      { line: 'reeve job scale web 3', says: 'set the count of a job with one group to three' },
      { line: 'reeve job scale web api 3', says: 'set the count of group "api" to three' },
    ],
    args: [
      JOB,
      { usage: '[GROUP]', help: 'the group; optional if there is only one' },
      { usage: '[COUNT]', help: 'the new count' },
    ],
    flags: [
      ...WATCH_FLAGS,
      ...OVERRIDE_WITH_COMMENT,
      { usage: '--message <TEXT>', help: 'reason, stored with the scaling event' },
      { usage: '--check-index <INDEX>', help: 'only if the job has this modify index' },
    ],
    isRead: true,
    load: async () => (await import('./write.ts')).runJobScale,
  },
  {
    path: 'job dispatch',
    summary: 'Dispatch a child job of a parameterized job.',
    examples: [
      { line: 'reeve job dispatch --meta name=Ada greet', says: 'with metadata' },
      { line: 'echo hello | reeve job dispatch greet -', says: 'with a payload' },
      {
        line: 'reeve job dispatch --payload in.json --idempotency-token 42 greet',
        says: 'idempotent: at most one child job per token',
      },
    ],
    args: [
      JOB,
      { usage: '[PAYLOAD]', help: 'a file; "-" reads standard input', completionKind: 'file' },
    ],
    flags: [
      { usage: '--payload <FILE>', help: 'the payload file, as a flag', completionKind: 'file' },
      { usage: '--meta <KEY=VALUE>', help: 'metadata of the child job', isRepeated: true },
      {
        usage: '--idempotency-token <TEXT>',
        help: 'a repeated dispatch with the same token creates no second child job',
      },
      { usage: '--id-prefix-template <TEXT>', help: 'template for the ID prefix of the child job' },
      { usage: '--priority <NUMBER>', help: 'priority of the child job' },
      ...WATCH_FLAGS,
      WAIT,
      ...OVERRIDE_WITH_COMMENT,
    ],
    isRead: true,
    load: async () => (await import('./write.ts')).runJobDispatch,
  },
  {
    path: 'job periodic force',
    summary: 'Launch a periodic job now.',
    examples: [{ line: 'reeve job periodic force backup', says: 'independently of its schedule' }],
    args: [JOB],
    flags: WATCH_FLAGS,
    isRead: true,
    load: async () => (await import('./write.ts')).runJobPeriodicForce,
  },
  {
    path: 'job eval',
    summary: 'Create a new evaluation for a job.',
    examples: [
      { line: 'reeve job eval web', says: 'evaluate the job without a change' },
      {
        line: 'reeve job eval --force-reschedule web',
        says: 'reschedule failed allocations at once',
      },
    ],
    args: [JOB],
    flags: [
      { usage: '--force-reschedule', help: 'reschedule failed allocations without delay' },
      ...WATCH_FLAGS,
    ],
    isRead: true,
    load: async () => (await import('./write.ts')).runJobEval,
  },
  {
    path: 'job release',
    summary: 'Release a job from quarantine and schedule it.',
    examples: [
      { line: 'reeve job release web', says: 'once the cause of the node failures is fixed' },
    ],
    args: [JOB],
    flags: WATCH_FLAGS,
    isRead: true,
    load: async () => (await import('./write.ts')).runJobRelease,
  },
  {
    path: 'job promote',
    summary: 'Promote the canaries of a job.',
    examples: [
      { line: 'reeve job promote web', says: 'in all groups' },
      { line: 'reeve job promote --group api web', says: 'in one group' },
    ],
    args: [JOB],
    flags: [{ usage: '--group <NAME>', help: 'only this group', isRepeated: true }, ...WATCH_FLAGS],
    isRead: true,
    load: async () => (await import('./write.ts')).runJobPromote,
  },
  {
    path: 'job tag',
    summary: 'Tag a version of a job; tagged versions are not garbage-collected.',
    examples: [
      { line: 'reeve job tag web golden', says: 'the current version' },
      {
        line: 'reeve job tag --version 3 --description "before the move" web golden',
        says: 'version 3',
      },
      { line: 'reeve job tag --unset web golden', says: 'remove the tag' },
    ],
    args: [JOB, { usage: '<NAME>', help: 'the tag' }],
    flags: [
      { usage: '--version <NUMBER>', help: 'version number (default: the current version)' },
      { usage: '--description <TEXT>', help: 'description' },
      { usage: '--unset', help: 'remove the tag' },
    ],
    isRead: true,
    load: async () => (await import('./write.ts')).runJobTag,
  },
]
