import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'

const JOB: ArgumentSpec = {
  usage: '<JOB>',
  help: 'the id of a job, or the beginning of one',
  completes: 'job',
}
const FILE: ArgumentSpec = {
  usage: '<FILE>',
  help: 'a job file in HCL or JSON; "-" reads standard input',
  completes: 'file',
}
const VARIABLES: readonly FlagSpec[] = [
  { usage: '--var <KEY=VALUE>', help: 'a variable of the job file', isRepeated: true },
  {
    usage: '--var-file <FILE>',
    help: 'a file with variables',
    isRepeated: true,
    completes: 'file',
  },
  { usage: '--allow-unknown-vars', help: 'pass over variables that the file does not declare' },
  { usage: '--hcl1', help: 'read the older syntax' },
]
const WATCHING: readonly FlagSpec[] = [
  { usage: '-d, --detach', help: 'do not watch what becomes of it' },
  { usage: '--wait-for-capacity', help: 'go on watching while instances have no place' },
]
const WAIT: FlagSpec = {
  usage: '--wait',
  help: 'wait until a batch job has ended; exit with the exit code of its tasks',
}
const OVERRIDE: readonly FlagSpec[] = [
  { usage: '--policy-override', help: 'pass over soft-mandatory policies that deny it' },
]
const OVERRIDE_WITH_REASON: readonly FlagSpec[] = [
  ...OVERRIDE,
  { usage: '--override-comment <TEXT>', help: 'why, kept with the override' },
]
const ENDS =
  'Ends with 0 when it runs, 1 when its deployment failed, 9 when instances have no place.'

/** What changes something, or prepares it. */
export const jobChangeCommands: readonly CommandSpec[] = [
  {
    path: 'job init',
    summary: 'Write a first job file.',
    examples: [
      { line: 'reeve job init', says: 'a service, in example.hcl' },
      { line: 'reeve job init --kind batch report.hcl', says: 'a job that runs to its end' },
    ],
    args: [{ usage: '[FILE]', help: 'where to (default: example.hcl); "-" prints it' }],
    flags: [
      { usage: '--kind <KIND>', help: 'service, batch, periodic, parameterized or system' },
      { usage: '--force', help: 'write over a file that is there' },
    ],
    load: async () => (await import('./init.ts')).runJobInit,
  },
  {
    path: 'job validate',
    summary: 'Say whether a job file is right, without submitting it.',
    examples: [
      { line: 'reeve job validate web.hcl', says: 'all that is wrong with it, with places' },
      { line: 'reeve job validate --var count=3 web.hcl', says: 'with a variable' },
    ],
    args: [FILE],
    flags: VARIABLES,
    isRead: true,
    load: async () => (await import('./validate.ts')).runJobValidate,
  },
  {
    path: 'job plan',
    aliases: ['plan'],
    summary: 'Say what running a job file would do, without doing it.',
    details:
      'Prints what changes in the job, what happens to its instances, what has no place and why, ' +
      'what policies say, and the command that runs exactly this. Ends with 0 when nothing would ' +
      'change, 3 when something would, 8 when a policy denies it, 9 when instances have no place.',
    examples: [
      { line: 'reeve job plan web.hcl', says: 'the plan' },
      { line: 'reeve job plan --json web.hcl', says: 'the same for machines' },
      { line: 'cat web.hcl | reeve job plan -', says: 'from standard input' },
    ],
    args: [FILE],
    flags: [
      ...VARIABLES,
      ...OVERRIDE,
      { usage: '--no-diff', help: 'without what changes in the job' },
      { usage: '-v, --verbose', help: 'also every field of what is new' },
    ],
    isRead: true,
    load: async () => (await import('./plan.ts')).runJobPlan,
  },
  {
    path: 'job run',
    summary: 'Run a job file: a new job, or a new version of one.',
    details:
      `Watches the evaluation and the deployment until they have ended. ${ENDS} ` +
      'Ctrl-C ends the watching; the job goes on.',
    examples: [
      { line: 'reeve job run web.hcl', says: 'run it and watch it' },
      { line: 'reeve job run --check-index 15 web.hcl', says: 'only if nobody changed it since' },
      { line: 'reeve job run --detach --var count=3 web.hcl', says: 'run it and go on' },
    ],
    args: [FILE],
    flags: [
      ...WATCHING,
      WAIT,
      {
        usage: '--check-index <INDEX>',
        help: 'only if the job still has this index; 0: only if it is new',
      },
      ...OVERRIDE_WITH_REASON,
      ...VARIABLES,
      { usage: '--preserve-counts', help: 'keep the counts of groups that are there already' },
      { usage: '--eval-priority <NUMBER>', help: 'priority of the evaluation' },
      { usage: '--output', help: 'only print the request that would be sent' },
    ],
    isRead: true,
    load: async () => (await import('./run.ts')).runJobRun,
  },
  {
    path: 'job stop',
    aliases: ['stop'],
    summary: 'Stop jobs.',
    examples: [
      { line: 'reeve job stop web', says: 'stop it; "reeve job start web" brings it back' },
      { line: 'reeve job stop --purge web', says: 'stop it and forget it' },
    ],
    args: [{ ...JOB, usage: '<JOB...>' }],
    flags: [
      { usage: '--purge', help: 'also forget the job and its versions' },
      { usage: '--global', help: 'in all regions of a multi-region job' },
      { usage: '--no-shutdown-delay', help: 'do not wait before tasks are killed' },
      { usage: '-d, --detach', help: 'do not wait for the evaluation' },
      { usage: '--eval-priority <NUMBER>', help: 'priority of the evaluation' },
      { usage: '-y, --yes', help: 'do not ask when only the beginning of an id was given' },
    ],
    isRead: true,
    load: async () => (await import('./stop.ts')).runJobStop,
  },
  {
    path: 'job start',
    summary: 'Start a stopped job again, as it was.',
    examples: [{ line: 'reeve job start web', says: 'start it and watch it' }],
    args: [JOB],
    flags: [...WATCHING, ...OVERRIDE_WITH_REASON],
    isRead: true,
    load: async () => (await import('./start.ts')).runJobStart,
  },
  {
    path: 'job restart',
    summary: 'Restart the tasks of a job, a few allocations at a time.',
    examples: [
      { line: 'reeve job restart web', says: 'one allocation after the other, in place' },
      {
        line: 'reeve job restart --batch-size 25% --reschedule web',
        says: 'replace a quarter at a time',
      },
      { line: 'reeve job restart --batch-wait 30s web', says: 'time to warm up before the next' },
    ],
    args: [JOB],
    flags: [
      { usage: '--group <NAME>', help: 'only allocations of this group', isRepeated: true },
      { usage: '--task <NAME>', help: 'only this task', isRepeated: true },
      { usage: '--all-tasks', help: 'also tasks that have ended' },
      { usage: '--batch-size <COUNT>', help: 'allocations at a time, as 2 or 25% (default: 1)' },
      {
        usage: '--batch-wait <DURATION>',
        help: 'how long between batches, as 30s; "ask" asks before each',
      },
      {
        usage: '--on-error <WHAT>',
        help: 'when one fails: "fail" ends it, "ask" asks (default: ask at a terminal, else fail)',
      },
      { usage: '--reschedule', help: 'replace allocations, possibly on other nodes' },
      { usage: '-y, --yes', help: 'do not ask between batches' },
    ],
    isRead: true,
    load: async () => (await import('./restart.ts')).runJobRestart,
  },
  {
    path: 'job revert',
    summary: 'Run an earlier version of a job again.',
    examples: [
      { line: 'reeve job revert web', says: 'the last stable version' },
      { line: 'reeve job revert web 3', says: 'version 3' },
      { line: 'reeve job revert web golden', says: 'the version with this tag' },
    ],
    args: [JOB, { usage: '[VERSION]', help: 'its number or tag (default: the last stable one)' }],
    flags: [
      ...WATCHING,
      ...OVERRIDE_WITH_REASON,
      { usage: '--check-version <NUMBER>', help: 'only if this is the current version' },
    ],
    isRead: true,
    load: async () => (await import('./revert.ts')).runJobRevert,
  },
  {
    path: 'job scale',
    summary: 'Change the count of a group, or show the counts.',
    examples: [
      { line: 'reeve job scale web', says: 'the counts of its groups' },
      { line: 'reeve job scale web 3', says: 'three instances, of a job with one group' },
      { line: 'reeve job scale web api 3', says: 'three instances of group "api"' },
    ],
    args: [
      JOB,
      { usage: '[GROUP]', help: 'the group; not needed when there is only one' },
      { usage: '[COUNT]', help: 'how many instances' },
    ],
    flags: [
      ...WATCHING,
      ...OVERRIDE_WITH_REASON,
      { usage: '--message <TEXT>', help: 'why, kept with the scaling events' },
      { usage: '--check-index <INDEX>', help: 'only if the job still has this index' },
    ],
    isRead: true,
    load: async () => (await import('./scale.ts')).runJobScale,
  },
  {
    path: 'job dispatch',
    summary: 'Start an instance of a parameterized job.',
    examples: [
      { line: 'reeve job dispatch --meta name=Ada greet', says: 'with metadata' },
      { line: 'echo hello | reeve job dispatch greet -', says: 'with a payload' },
      { line: 'reeve job dispatch --payload in.json --idempotency-token 42 greet', says: 'once' },
    ],
    args: [
      JOB,
      { usage: '[PAYLOAD]', help: 'a file; "-" reads standard input', completes: 'file' },
    ],
    flags: [
      { usage: '--payload <FILE>', help: 'the same as a flag', completes: 'file' },
      { usage: '--meta <KEY=VALUE>', help: 'metadata of the instance', isRepeated: true },
      {
        usage: '--idempotency-token <TEXT>',
        help: 'a second one with this makes no second instance',
      },
      { usage: '--id-prefix-template <TEXT>', help: 'what the id of the instance begins with' },
      { usage: '--priority <NUMBER>', help: 'priority of the child job' },
      ...WATCHING,
      WAIT,
      ...OVERRIDE_WITH_REASON,
    ],
    isRead: true,
    load: async () => (await import('./dispatch.ts')).runJobDispatch,
  },
  {
    path: 'job periodic force',
    summary: 'Launch an instance of a periodic job now.',
    examples: [{ line: 'reeve job periodic force backup', says: 'now, whatever its schedule' }],
    args: [JOB],
    flags: WATCHING,
    isRead: true,
    load: async () => (await import('./periodic-force.ts')).runJobPeriodicForce,
  },
  {
    path: 'job eval',
    summary: 'Let the scheduler look at a job again.',
    examples: [
      { line: 'reeve job eval web', says: 'again, without a change' },
      { line: 'reeve job eval --force-reschedule web', says: 'failed allocations at once' },
    ],
    args: [JOB],
    flags: [
      { usage: '--force-reschedule', help: 'place failed allocations again at once' },
      ...WATCHING,
    ],
    isRead: true,
    load: async () => (await import('./evaluate.ts')).runJobEval,
  },
  {
    path: 'job release',
    summary: 'Release a job from quarantine, and place it again.',
    examples: [
      { line: 'reeve job release web', says: 'after the cause of the lost nodes is known' },
    ],
    args: [JOB],
    flags: WATCHING,
    isRead: true,
    load: async () => (await import('./release.ts')).runJobRelease,
  },
  {
    path: 'job promote',
    summary: 'Promote the canaries of a job.',
    examples: [
      { line: 'reeve job promote web', says: 'those of every group' },
      { line: 'reeve job promote --group api web', says: 'those of one group' },
    ],
    args: [JOB],
    flags: [{ usage: '--group <NAME>', help: 'only this group', isRepeated: true }, ...WATCHING],
    isRead: true,
    load: async () => (await import('./promote.ts')).runJobPromote,
  },
  {
    path: 'job tag',
    summary: 'Give a version of a job a name, so that it is kept.',
    examples: [
      { line: 'reeve job tag web golden', says: 'the current version' },
      {
        line: 'reeve job tag --version 3 --description "before the move" web golden',
        says: 'version 3',
      },
      { line: 'reeve job tag --unset web golden', says: 'take the name away' },
    ],
    args: [JOB, { usage: '<NAME>', help: 'the name' }],
    flags: [
      { usage: '--version <NUMBER>', help: 'which version (default: the current one)' },
      { usage: '--description <TEXT>', help: 'more about it' },
      { usage: '--unset', help: 'take the name away' },
    ],
    isRead: true,
    load: async () => (await import('./tag.ts')).runJobTag,
  },
]
