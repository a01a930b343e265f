import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'

export const agentCommands: readonly CommandSpec[] = [
  {
    path: 'agent monitor',
    summary: 'Follow the log of a server or a node.',
    details:
      'Without flags, follows the log of the responding server. --log-level may be lower than ' +
      'the configured level; no restart is needed.',
    examples: [
      { line: 'reeve agent monitor', says: 'this server, from level info' },
      { line: 'reeve agent monitor --node 8a3f --log-level debug', says: 'a node, in detail' },
      { line: 'reeve agent monitor --server leader --json', says: 'the leader, as JSON lines' },
    ],
    flags: [
      { usage: '--node <NODE>', help: 'name or ID prefix of the node', completionKind: 'node' },
      { usage: '--server <NAME>', help: 'name of the server, or "leader"' },
      {
        usage: '--log-level <LEVEL>',
        help: 'lowest level: debug, info, warn or error (default: info)',
      },
      { usage: '--json', help: 'print each line as JSON' },
    ],
    load: async () => (await import('./inspect.ts')).runAgentMonitor,
  },
  {
    path: 'agent info',
    summary: 'Show the version, role and state of the agent that answers.',
    examples: [
      { line: 'reeve agent info', says: 'statistics of the agent' },
      { line: 'reeve agent info --json', says: 'with its configuration, secrets redacted' },
    ],
    isRead: true,
    load: async () => (await import('./inspect.ts')).runAgentInfo,
  },
]

export const eventCommands: readonly CommandSpec[] = [
  {
    path: 'event stream',
    summary: 'Follow the event stream, one JSON object per line.',
    details:
      'A broken connection is re-established and the stream resumes after the last index. ' +
      'Gaps are reported on standard error.',
    examples: [
      { line: 'reeve event stream', says: 'all retained events, then new ones' },
      {
        line: 'reeve event stream --topic Job:web --topic Deployment:web',
        says: 'events of one job',
      },
      { line: 'reeve event stream --topic Node --index 1042', says: 'resume after an index' },
      {
        line: `reeve event stream -t '{{ range .Events }}{{ .Type }} {{ .Key }}{{ "\\n" }}{{ end }}'`,
        says: 'only type and key',
      },
    ],
    flags: [
      { usage: '--topic <TOPIC[:KEY]>', help: 'only events of this topic', isRepeated: true },
      {
        usage: '--index <INDEX>',
        help: 'start at this index (default: the oldest retained event)',
      },
      { usage: '--count <NUMBER>', help: 'stop after this many lines' },
      { usage: '--heartbeats', help: 'print heartbeats too' },
      { usage: '--no-reconnect', help: 'exit when the connection is lost' },
      { usage: '-t, --template <TEXT>', help: 'format each line with a Go template' },
    ],
    load: async () => (await import('./event-stream.ts')).runEventStream,
  },
]

/** Flags that filter an audit trail. */
export const AUDIT_FILTER_FLAGS: readonly FlagSpec[] = [
  { usage: '--actor <ID>', help: 'only requests of the actor with this ID' },
  { usage: '--action <NAME>', help: 'only this operation, such as registerJob' },
  { usage: '--resource <NAME>', help: 'only requests on the resource with this ID or name' },
  {
    usage: '--since <TIME>',
    help: 'only requests after this time: "2h" for two hours ago, or 2030-01-31T12:00:00Z',
  },
  { usage: '--until <TIME>', help: 'only requests before this time, in the same form' },
  { usage: '--count <NUMBER>', help: 'number of entries (default: 50)' },
]

export const auditCommands: readonly CommandSpec[] = [
  {
    path: 'audit list',
    summary: 'List the audit trail of both APIs, newest first.',
    details:
      'Includes denied requests. Requires a management token; owners of an organization use ' +
      '"org audit".',
    examples: [
      { line: 'reeve audit list --since 1h', says: 'the last hour' },
      {
        line: 'reeve audit list --action stopJob --resource web',
        says: 'requests that stopped this job',
      },
    ],
    flags: AUDIT_FILTER_FLAGS,
    isRead: true,
    load: async () => (await import('./audit.ts')).runAuditList,
  },
]

const SERVICE: ArgumentSpec = { usage: '<SERVICE>', help: 'the name of a service' }

export const serviceCommands: readonly CommandSpec[] = [
  {
    path: 'service list',
    summary: 'List registered services.',
    examples: [{ line: 'reeve service list', says: 'names and tags' }],
    isRead: true,
    load: async () => (await import('./inspect.ts')).runServiceList,
  },
  {
    path: 'service info',
    summary: 'Show the instances of a service.',
    examples: [
      { line: 'reeve service info web', says: 'addresses and ports' },
      {
        line: `reeve service info -t '{{ range . }}{{ .Address }}:{{ .Port }} {{ end }}' web`,
        says: 'only the addresses',
      },
    ],
    args: [SERVICE],
    flags: [
      { usage: '--filter <EXPRESSION>', help: 'only instances that match this expression' },
      { usage: '-v, --verbose', help: 'show full IDs' },
    ],
    isRead: true,
    load: async () => (await import('./inspect.ts')).runServiceInfo,
  },
  {
    path: 'service delete',
    summary: 'Delete the registration of a service instance.',
    examples: [{ line: 'reeve service delete web _reeve-task-8a7f', says: 'by ID' }],
    args: [SERVICE, { usage: '<INSTANCE>', help: 'the ID of an instance, or a prefix of it' }],
    load: async () => (await import('./inspect.ts')).runServiceDelete,
  },
]

export const searchCommands: readonly CommandSpec[] = [
  {
    path: 'search',
    summary: 'Search jobs, allocations, nodes and more by ID or name prefix.',
    examples: [
      { line: 'reeve search 8a7f', says: 'any object whose ID starts with 8a7f' },
      { line: 'reeve search --fuzzy redis', says: 'also search groups, tasks and images of jobs' },
      { line: 'reeve search --context nodes web-', says: 'only nodes' },
    ],
    args: [{ usage: '<TEXT>', help: 'a prefix of an ID or name' }],
    flags: [
      { usage: '--fuzzy', help: 'match anywhere in a name' },
      { usage: '--context <NAME>', help: 'jobs, evals, allocs, nodes, vars, … (default: all)' },
    ],
    isRead: true,
    load: async () => (await import('./inspect.ts')).runSearch,
  },
]

export const snapshotCommands: readonly CommandSpec[] = [
  {
    path: 'operator snapshot save',
    summary: 'Save a snapshot of the cluster state.',
    details:
      'The snapshot is consistent and is verified before the file appears. Secrets in it ' +
      'are encrypted: back up the sealing key (or server.cluster_key) of the servers as ' +
      'well.',
    examples: [
      { line: 'reeve operator snapshot save monday.snapshot', says: 'requires a management token' },
    ],
    args: [{ usage: '<FILE>', help: 'the file to write', completionKind: 'file' }],
    flags: [{ usage: '--force', help: 'overwrite an existing file' }],
    isRead: true,
    load: async () => (await import('../snapshot/snapshot.ts')).runSnapshotSave,
  },
  {
    path: 'operator snapshot inspect',
    summary: 'Verify a snapshot and show its content.',
    examples: [{ line: 'reeve operator snapshot inspect monday.snapshot', says: 'works offline' }],
    args: [{ usage: '<FILE>', help: 'a snapshot', completionKind: 'file' }],
    isRead: true,
    load: async () => (await import('../snapshot/snapshot.ts')).runSnapshotInspect,
  },
]

export const topCommands: readonly CommandSpec[] = [
  {
    path: 'top',
    summary: 'Monitor the cluster: nodes, busiest allocations, recent events.',
    details:
      'Full-screen and live: arrow keys select, Enter shows the selected node or ' +
      'allocation, "?" lists the keys, "q" quits. In a pipe, or with --once, it prints one ' +
      'screen. Without --namespace it shows all namespaces that the token may read.',
    examples: [
      { line: 'reeve top', says: 'live, until "q"' },
      { line: 'reeve top --once', says: 'print one screen and exit' },
      { line: `reeve top -t '{{ .Totals.Memory.Allocated }}'`, says: 'one number, for scripts' },
    ],
    flags: [{ usage: '--once', help: 'print one screen and exit' }],
    isRead: true,
    load: async () => (await import('../top/top.ts')).runTop,
  },
]

export const uiCommands: readonly CommandSpec[] = [
  {
    path: 'ui',
    summary: 'Print a link to the web UI that signs in with the current token.',
    examples: [
      { line: 'reeve ui', says: 'print the link' },
      { line: 'reeve ui --open', says: 'open it in a browser' },
    ],
    flags: [
      { usage: '--open', help: 'open it in a browser' },
      { usage: '--no-sign-in', help: 'a link without a token' },
    ],
    isRead: true,
    load: async () => (await import('./login.ts')).runUi,
  },
]

export const loginCommands: readonly CommandSpec[] = [
  {
    path: 'login',
    summary: 'Save the address of a server and a token for it.',
    details:
      'Prompts for the token without echo, or reads it from standard input with "-". The token is ' +
      'verified, saved in a file that only you can read, and only sent to this server.',
    examples: [
      { line: 'reeve login', says: 'save a token for the current server' },
      {
        line: 'reeve login https://reeve.example:4646',
        says: 'log in to another server and make it the default',
      },
      { line: 'pass reeve | reeve login -', says: 'read the token from a password store' },
    ],
    args: [
      { usage: '[ADDRESS]', help: 'the server; "-" alone reads the token from standard input' },
      { usage: '[INPUT]', help: '"-" reads the token from standard input' },
    ],
    load: async () => (await import('./login.ts')).runLogin,
  },
  {
    path: 'logout',
    summary: 'Remove the saved token of a server.',
    examples: [{ line: 'reeve logout', says: 'of the current server' }],
    flags: [{ usage: '--all', help: 'remove all saved servers and tokens' }],
    load: async () => (await import('./login.ts')).runLogout,
  },
]

export const doctorCommands: readonly CommandSpec[] = [
  {
    path: 'doctor',
    summary: 'Diagnose connectivity, authentication and scheduling, and suggest fixes.',
    details: 'Exits with 1 if a check fails; warnings alone exit with 0.',
    examples: [
      { line: 'reeve doctor', says: 'every check, with the fix for each problem' },
      { line: 'reeve doctor --json', says: 'as JSON' },
    ],
    isRead: true,
    load: async () => (await import('../doctor/doctor.ts')).runDoctor,
  },
]
