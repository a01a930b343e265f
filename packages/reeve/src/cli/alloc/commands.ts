import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'

const ALLOC: ArgumentSpec = {
  usage: '<ALLOC>',
  help: 'an allocation: ID or prefix, JOB, JOB/GROUP or JOB/GROUP[INDEX]',
  completionKind: 'allocation',
}
const OPTIONAL_ALLOC: ArgumentSpec = { ...ALLOC, usage: '[ALLOC]' }
const OPTIONAL_TASK: ArgumentSpec = { usage: '[TASK]', help: 'the name of a task' }

const JOB: FlagSpec = {
  usage: '--job <JOB>',
  help: 'a running allocation of this job instead of ALLOC',
  completionKind: 'job',
}
const INSTANCE: readonly FlagSpec[] = [
  JOB,
  { usage: '--group <NAME>', help: 'with --job: only this group' },
  { usage: '--index <NUMBER>', help: 'with --job: only the allocation with this index' },
]
const TASK: FlagSpec = { usage: '--task <TASK>', help: 'the task; required if there are several' }
const ONE_TASK: FlagSpec = { usage: '--task <TASK>', help: 'only this task' }
const VERBOSE: FlagSpec = { usage: '-v, --verbose', help: 'show full IDs and more details' }
const TAIL: readonly FlagSpec[] = [
  { usage: '-f, --follow', help: 'follow the output' },
  { usage: '-n, --tail <LINES>', help: 'start with the last lines' },
  { usage: '-c, --bytes <COUNT>', help: 'start with the last bytes' },
]

/** Flags of all commands that open a session in a task. */
export const SESSION_FLAGS: readonly FlagSpec[] = [
  {
    usage: '-i, --interactive',
    help: 'forward standard input; without -t, never allocate a terminal',
  },
  { usage: '-t, --tty', help: 'allocate a terminal for the command' },
  { usage: '--no-stdin', help: 'do not read standard input' },
  {
    usage: '-e, --escape <CHAR>',
    help: 'escape character; followed by a dot it ends the session; or "none" (default: ~)',
  },
]

export const allocCommands: readonly CommandSpec[] = [
  {
    path: 'alloc status',
    aliases: ['alloc list', 'alloc ls'],
    summary: 'List allocations, or show one and its tasks.',
    examples: [
      { line: 'reeve alloc status', says: 'allocations that have not terminated' },
      { line: 'reeve alloc status 8a7f', says: 'one allocation, by a prefix of its ID' },
      {
        line: `reeve alloc status --job web --template '{{ range . }}{{ .ID }} {{ end }}'`,
        says: 'only the IDs',
      },
    ],
    args: [OPTIONAL_ALLOC],
    flags: [
      { usage: '--all', help: 'include terminal allocations' },
      { usage: '--job <JOB>', help: 'only those of this job', completionKind: 'job' },
      VERBOSE,
    ],
    isRead: true,
    load: async () => (await import('./allocation.ts')).runAllocStatus,
  },
  {
    path: 'alloc logs',
    summary: 'Show the logs of a task.',
    details: 'Standard error of the task is printed to standard error.',
    examples: [
      { line: 'reeve alloc logs 8a7f', says: 'of the only task of the allocation' },
      {
        line: 'reeve alloc logs -f -n 20 8a7f server',
        says: 'the last 20 lines, then follow',
      },
      {
        line: 'reeve alloc logs --stderr --job web',
        says: 'standard error of a running allocation of the job',
      },
    ],
    args: [OPTIONAL_ALLOC, OPTIONAL_TASK],
    flags: [
      ...TAIL,
      { usage: '--stdout', help: 'only standard output' },
      { usage: '--stderr', help: 'only standard error' },
      TASK,
      ...INSTANCE,
    ],
    load: async () => (await import('./files.ts')).runAllocLogs,
  },
  {
    path: 'alloc exec',
    aliases: ['exec'],
    summary: 'Run a command inside a task.',
    details:
      'A person at a terminal gets a terminal inside the task; scripts and pipes get a pipe. The ' +
      'exit code is that of the command. Enter, then "~.", leaves a session that hangs.',
    examples: [
      { line: 'reeve alloc exec -it 8a7f /bin/sh', says: 'a shell in a terminal' },
      {
        line: 'reeve alloc exec --job web env',
        says: 'the environment of a running allocation of the job',
      },
      { line: 'reeve alloc exec -i 8a7f psql < query.sql', says: 'with input from a file' },
    ],
    args: [OPTIONAL_ALLOC, { usage: '[COMMAND...]', help: 'the command and its arguments' }],
    flags: [...SESSION_FLAGS, TASK, ...INSTANCE],
    passThroughArgs: true,
    load: async () => (await import('./attach.ts')).runAllocExec,
  },
  {
    path: 'alloc checks',
    summary: 'Show the latest results of the health checks of an allocation.',
    details: 'Exits with 1 while a check fails.',
    examples: [
      {
        line: 'reeve alloc checks 8a7f',
        says: 'status, HTTP code and the output of failed checks',
      },
      { line: 'reeve alloc checks web/api[0]', says: 'by job, group and index' },
    ],
    args: [OPTIONAL_ALLOC],
    flags: INSTANCE,
    isRead: true,
    load: async () => (await import('./allocation.ts')).runAllocChecks,
  },
  {
    path: 'alloc cp',
    summary: 'Copy files between this machine and an allocation.',
    details:
      'A path in an allocation is written ALLOC:PATH, relative to the allocation directory; a ' +
      'download also finds paths of the task. Directories are copied with their contents. An ' +
      'upload runs /bin/sh in the task, and its PATH is a path of the task.',
    examples: [
      { line: 'reeve alloc cp 8a7f:server/local/config.yml .', says: 'download a file' },
      { line: 'reeve alloc cp web/api[0]:alloc/data ./data', says: 'download a directory' },
      { line: 'reeve alloc cp --task server seed.sql 8a7f:/local/seed.sql', says: 'upload a file' },
    ],
    args: [
      { usage: '<FROM>', help: 'a path here, or ALLOC:PATH', completionKind: 'file' },
      { usage: '<TO>', help: 'a path here, or ALLOC:PATH', completionKind: 'file' },
    ],
    flags: [TASK],
    load: async () => (await import('./files.ts')).runAllocCp,
  },
  {
    path: 'alloc port-forward',
    summary: 'Forward local ports to ports of a task.',
    details:
      'Listens on 127.0.0.1 until Ctrl-C. Each connection runs a relay inside the task, with the ' +
      'rights of "alloc exec": the task needs /bin/sh and one of socat, nc and bash. The port is ' +
      'that on 127.0.0.1 as the task sees it.',
    examples: [
      { line: 'reeve alloc port-forward 8a7f 8080:80', says: 'local port 8080 to port 80' },
      { line: 'reeve alloc port-forward web/api[0] 5432', says: 'the same port on both sides' },
      { line: 'reeve alloc port-forward --task server 8a7f :80', says: 'any free local port' },
    ],
    args: [ALLOC, { usage: '<PORT...>', help: 'PORT, LOCAL:REMOTE or :REMOTE' }],
    flags: [TASK],
    load: async () => (await import('./port-forward.ts')).runAllocPortForward,
  },
  {
    path: 'alloc signal',
    summary: 'Send a signal to a task, or to all tasks of an allocation.',
    examples: [
      { line: 'reeve alloc signal -s SIGHUP 8a7f', says: 'to every task' },
      { line: 'reeve alloc signal -s SIGUSR1 8a7f server', says: 'to one task' },
    ],
    args: [ALLOC, OPTIONAL_TASK],
    flags: [{ usage: '-s, --signal <NAME>', help: 'the signal (default: SIGKILL)' }, ONE_TASK],
    load: async () => (await import('./allocation.ts')).runAllocSignal,
  },
  {
    path: 'alloc restart',
    summary: 'Restart the tasks of an allocation in place.',
    examples: [
      { line: 'reeve alloc restart 8a7f', says: 'all running tasks' },
      { line: 'reeve alloc restart 8a7f server', says: 'one task' },
    ],
    args: [ALLOC, OPTIONAL_TASK],
    flags: [ONE_TASK, { usage: '--all-tasks', help: 'include tasks that have terminated' }],
    load: async () => (await import('./allocation.ts')).runAllocRestart,
  },
  {
    path: 'alloc pause',
    summary: 'Pause a scheduled task, run it, or return it to its schedule.',
    details:
      'The override holds until another one replaces it or the task ends. A paused task is stopped ' +
      'with its kill signal; its resources stay reserved.',
    examples: [
      { line: 'reeve alloc pause 8a7f report', says: 'stop the task until it is resumed' },
      { line: 'reeve alloc pause --state run 8a7f report', says: 'run it outside its schedule' },
      {
        line: 'reeve alloc pause --state scheduled 8a7f report',
        says: 'follow the schedule again',
      },
      { line: 'reeve alloc pause --status 8a7f report', says: 'show the current override' },
    ],
    args: [ALLOC, OPTIONAL_TASK],
    flags: [
      { usage: '--state <STATE>', help: '"pause", "run" or "scheduled" (default: pause)' },
      { usage: '--status', help: 'only show the current state' },
      ONE_TASK,
    ],
    load: async () => (await import('./allocation.ts')).runAllocPause,
  },
  {
    path: 'alloc stop',
    summary: 'Stop an allocation; the scheduler replaces it.',
    examples: [
      { line: 'reeve alloc stop 8a7f', says: 'and watch its replacement' },
      { line: 'reeve alloc stop --detach 8a7f', says: 'return at once' },
    ],
    args: [ALLOC],
    flags: [
      { usage: '-d, --detach', help: 'do not wait for the evaluation' },
      { usage: '--no-shutdown-delay', help: 'skip the shutdown delay of the tasks' },
    ],
    load: async () => (await import('./allocation.ts')).runAllocStop,
  },
  {
    path: 'alloc fs',
    summary: 'List a directory of an allocation, or print a file.',
    examples: [
      { line: 'reeve alloc fs 8a7f', says: 'list the allocation directory' },
      { line: 'reeve alloc fs 8a7f server/local/config.yml', says: 'from a file' },
      { line: 'reeve alloc fs -f -n 10 8a7f alloc/logs/server.stdout.0', says: 'follow a file' },
      { line: 'reeve alloc fs --stat 8a7f alloc/data', says: 'size, mode and time' },
    ],
    args: [
      OPTIONAL_ALLOC,
      { usage: '[PATH]', help: 'a path relative to the allocation directory' },
    ],
    flags: [
      { usage: '--stat', help: 'show information about the file instead of its content' },
      { usage: '--exact', help: 'sizes in bytes' },
      ...TAIL,
      ...INSTANCE,
    ],
    isRead: true,
    load: async () => (await import('./files.ts')).runAllocFs,
  },
  {
    path: 'alloc stats',
    summary: 'Show the current resource usage of an allocation.',
    examples: [
      { line: 'reeve alloc stats 8a7f', says: 'CPU and memory of each task' },
      {
        line: 'reeve alloc stats --job web --json',
        says: 'of a running allocation of the job, as JSON',
      },
    ],
    args: [OPTIONAL_ALLOC],
    flags: [ONE_TASK, ...INSTANCE],
    isRead: true,
    load: async () => (await import('./allocation.ts')).runAllocStats,
  },
]
