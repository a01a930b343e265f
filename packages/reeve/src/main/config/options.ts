import { HTTP_PORT } from './address.ts'
import { admissionOptions, backupOptions, limitOptions, regionOptions } from './server-options.ts'
import { LOG_LEVELS, type Secret } from './agent-config.ts'
import { clientOptions } from './client-options.ts'
import { dockerOptions } from './docker-options.ts'
import { driverOptions } from './driver-options.ts'
import { infrastructureOptions } from './infrastructure-options.ts'
import { constant, computed, option, type Option } from './option.ts'
import { tlsOptions, tracingOptions } from './tls-options.ts'
import {
  address,
  databaseUrl,
  duration,
  endpoint,
  host,
  stringMatching,
  oneOf,
  origin,
  optionalOrigin,
  path,
  portRanges,
  secret,
  bool,
  integer,
  listOf,
  mapOf,
} from './option-types.ts'

const HOUR_MS = 3_600_000

const name = stringMatching(
  'a name of 1 to 128 letters, digits, ".", "_" and "-", the first a letter or digit',
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
)
const poolName = stringMatching(
  'the name of a pool: 1 to 128 letters, digits, "_" and "-", but not "all"',
  /^(?!all$)[A-Za-z0-9_-]{1,128}$/,
)
const nodeClass = stringMatching('text of at most 128 characters without spaces', /^\S{0,128}$/)
const port = integer({ min: 0, max: 65_535 })
/** Larger than the resources of any machine, and the sum over a thousand nodes is still exact. */
const amount = integer({ min: 0, max: 2 ** 40 })

/**
 * Header names are tokens (RFC 9110), and values contain no line breaks, which would inject
 * headers.
 */
const headers = mapOf({
  name: /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/,
  value: /^[\x20-\x7e\x80-\xff]{0,4096}$/,
  rule: 'names are those of HTTP headers, values have one line',
})
const nodeMeta = mapOf({
  name: /^\S{1,128}$/,
  value: /^[^\p{Cc}]{0,4096}$/u,
  rule: 'names have no spaces, values one line',
})

/**
 * Shorter intervals would treat each pause of a process as a failure; longer ones would detect
 * failures too late.
 */
const heartbeatTime = duration({ msMin: 100, msMax: HOUR_MS })

const noTexts: readonly string[] = []
const noSecrets: readonly Secret[] = []
const noNames: Readonly<Record<string, string>> = {}

/**
 * All settings of an agent in the order of the documentation. Names in files follow the conventions
 * of similar systems.
 */
export const options = {
  dev: option({
    kind: bool,
    flag: { long: '--dev' },
    byDefault: constant(false, '`false`'),
    help:
      'Server and node in one process for trying things out: loopback only, ACLs off on `/v1`, ' +
      'data in a temporary directory.',
    read: (config) => config.dev,
  }),
  server: option({
    kind: bool,
    file: ['server', 'enabled'],
    environment: 'REEVE_SERVER',
    flag: { long: '--server' },
    byDefault: computed('`false`; `true` with `--dev`', ({ dev }) => dev),
    help: 'Whether this agent is a server: keeps the state, answers the APIs, places work.',
    read: (config) => config.server.enabled,
  }),
  client: option({
    kind: bool,
    file: ['client', 'enabled'],
    environment: 'REEVE_CLIENT',
    flag: { long: '--client' },
    byDefault: computed('`false`; `true` with `--dev`', ({ dev }) => dev),
    help: 'Whether this agent is a node: runs tasks on this machine.',
    read: (config) => config.client.enabled,
  }),
  region: option({
    kind: name,
    file: ['region'],
    environment: 'REEVE_REGION',
    flag: { long: '--region', argument: 'NAME' },
    byDefault: constant('global', '`global`'),
    help: 'The region this agent belongs to.',
    read: (config) => config.region,
  }),
  datacenter: option({
    kind: name,
    file: ['datacenter'],
    environment: 'REEVE_DATACENTER',
    flag: { long: '--datacenter', argument: 'NAME' },
    byDefault: constant('dc1', '`dc1`'),
    help: 'Datacenter of the agent; jobs may require it.',
    read: (config) => config.datacenter,
  }),
  name: option({
    kind: name,
    file: ['name'],
    environment: 'REEVE_NODE_NAME',
    flag: { long: '--node-name', argument: 'NAME' },
    byDefault: computed('the host name', ({ hostName }) => hostName),
    help: 'The name of this agent as a server and as a node.',
    read: (config) => config.name,
  }),
  compatibility: option({
    kind: bool,
    file: ['compatibility'],
    environment: 'REEVE_COMPATIBILITY',
    byDefault: constant(true, '`true`'),
    help:
      'Whether clients, job files, tasks and templates may use the names of other products ' +
      '(compatibility.md). The command line reads the variable of the environment too.',
    read: (config) => config.compatibility,
  }),
  dataDirectory: option({
    kind: path,
    file: ['data_dir'],
    environment: 'REEVE_DATA_DIR',
    flag: { long: '--data-dir', argument: 'DIR' },
    byDefault: constant(undefined, 'none: must be set; with `--dev` a temporary directory'),
    help:
      'Where the state is kept, and on a node the directories of its tasks. Absolute in a file; ' +
      'else relative to the working directory.',
    read: (config) => config.dataDirectory,
  }),
  bind: option({
    kind: host,
    file: ['bind_addr'],
    environment: 'REEVE_BIND_ADDR',
    flag: { long: '--bind', argument: 'ADDR' },
    byDefault: constant('127.0.0.1', '`127.0.0.1`'),
    help: 'The address that is listened on; `0.0.0.0` is every one. With `--dev` loopback only.',
    read: (config) => config.bind,
  }),
  httpPort: option({
    kind: port,
    file: ['ports', 'http'],
    environment: 'REEVE_HTTP_PORT',
    flag: { long: '--http-port', argument: 'N' },
    byDefault: constant(HTTP_PORT, `\`${HTTP_PORT}\``),
    help:
      'The port of both APIs, their documentation, metrics and the channel of the nodes; 0 takes ' +
      'any free one.',
    read: (config) => config.ports.http,
  }),
  advertise: option({
    kind: address,
    file: ['advertise', 'http'],
    environment: 'REEVE_ADVERTISE_HTTP',
    byDefault: constant(
      undefined,
      'the bound address; for `0.0.0.0` the first address of this machine that others can reach',
    ),
    help: 'Where others reach this agent, when that is not where it listens.',
    read: ({ advertise }) => ({ host: advertise.host, port: advertise.httpPort }),
  }),
  ...admissionOptions,
  database: option({
    kind: databaseUrl,
    file: ['server', 'database'],
    environment: 'REEVE_DATABASE',
    flag: { long: '--database', argument: 'URL' },
    byDefault: constant(undefined, 'none: the state is in the data directory'),
    help:
      'The PostgreSQL that keeps the state: servers with the same one are one cluster. Flags are seen ' +
      'by every user of a machine, so a password belongs in the environment or a password file.',
    read: (config) => config.server.database,
  }),
  commitTimeout: option({
    kind: duration({ msMin: 1_000, msMax: HOUR_MS / 12 }),
    file: ['server', 'commit_timeout'],
    environment: 'REEVE_COMMIT_TIMEOUT',
    byDefault: constant(15_000, '`15s`'),
    help:
      'How long a write waits for a PostgreSQL that does not answer. After that it is answered with ' +
      '503, and so is every other write until the database answers; reads go on.',
    read: (config) => config.server.commitTimeoutMs,
  }),
  clusterKey: option({
    kind: secret,
    file: ['server', 'cluster_key'],
    environment: 'REEVE_CLUSTER_KEY',
    byDefault: constant(
      undefined,
      'a server makes one at its first start: `server/sealing-key` in its data directory',
    ),
    help:
      'Seals what is secret in the state, in a database or a data directory; the servers of one ' +
      'database share it and know each other by it. When you change it, configure the one before as ' +
      '`server.previous_cluster_keys`, or the secrets that were sealed are lost.',
    read: (config) => config.server.clusterKey,
  }),
  previousClusterKeys: option({
    kind: listOf(secret),
    file: ['server', 'previous_cluster_keys'],
    environment: 'REEVE_PREVIOUS_CLUSTER_KEYS',
    byDefault: constant(noSecrets, 'none'),
    help:
      'Further cluster keys that this server accepts: they open secrets that were sealed with them, and ' +
      'authenticate servers that still have one of them as their `cluster_key`.',
    read: (config) => config.server.previousClusterKeys,
  }),
  ...regionOptions,
  heartbeatTtlMin: option({
    kind: heartbeatTime,
    file: ['server', 'min_heartbeat_ttl'],
    environment: 'REEVE_MIN_HEARTBEAT_TTL',
    byDefault: constant(5_000, '`5s`'),
    help: 'The least time between two heartbeats of a node.',
    read: (config) => config.server.presence.heartbeatMsMin,
  }),
  heartbeatsPerSecond: option({
    kind: integer({ min: 1, max: 1_000_000 }),
    file: ['server', 'max_heartbeats_per_second'],
    environment: 'REEVE_MAX_HEARTBEATS_PER_SECOND',
    byDefault: constant(1_000, '`1000`'),
    help: 'Heartbeats of all nodes together: where there are more nodes, each speaks less often.',
    read: (config) => config.server.presence.heartbeatsPerSecondMax,
  }),
  heartbeatGrace: option({
    kind: heartbeatTime,
    file: ['server', 'heartbeat_grace'],
    environment: 'REEVE_HEARTBEAT_GRACE',
    byDefault: constant(15_000, '`15s`'),
    help: 'How late a heartbeat may be before its node counts as down or disconnected.',
    read: (config) => config.server.presence.graceMs,
  }),
  heartbeatFailover: option({
    kind: heartbeatTime,
    file: ['server', 'failover_heartbeat_ttl'],
    environment: 'REEVE_FAILOVER_HEARTBEAT_TTL',
    byDefault: constant(60_000, '`1m`'),
    help: 'How long nodes may take to reconnect after the server has started, before they count as lost.',
    read: (config) => config.server.presence.failoverTtlMs,
  }),
  servers: option({
    kind: listOf(endpoint(HTTP_PORT)),
    file: ['client', 'servers'],
    environment: 'REEVE_SERVERS',
    flag: { long: '--join', argument: 'ADDR' },
    byDefault: constant(noTexts, 'none; not needed where the server is in the same process'),
    help: 'The servers that a node dials.',
    read: (config) => config.client.servers,
  }),
  nodePool: option({
    kind: poolName,
    file: ['client', 'node_pool'],
    environment: 'REEVE_NODE_POOL',
    byDefault: constant('default', '`default`'),
    help: 'The pool the node belongs to.',
    read: (config) => config.client.nodePool,
  }),
  nodeClass: option({
    kind: nodeClass,
    file: ['client', 'node_class'],
    environment: 'REEVE_NODE_CLASS',
    byDefault: constant('', 'none'),
    help: 'A word for nodes of one sort, such as `gpu`; jobs may ask for it.',
    read: (config) => config.client.nodeClass,
  }),
  meta: option({
    kind: nodeMeta,
    file: ['client', 'meta'],
    byDefault: constant(noNames, 'none'),
    help: 'Facts about the node that jobs may ask for, such as `rack`.',
    read: (config) => config.client.meta,
  }),
  disableRemoteExec: option({
    kind: bool,
    file: ['client', 'disable_remote_exec'],
    environment: 'REEVE_DISABLE_REMOTE_EXEC',
    byDefault: constant(false, '`false`'),
    help: 'Whether the node refuses to run commands inside its tasks, whatever rights a caller has.',
    read: (config) => !config.client.remoteExec,
  }),
  reservedCpu: option({
    kind: amount,
    file: ['client', 'reserved', 'cpu'],
    byDefault: constant(0, '`0`'),
    help: 'MHz that the node keeps from tasks.',
    read: (config) => config.client.reserved.cpuMHz,
  }),
  reservedMemory: option({
    kind: amount,
    file: ['client', 'reserved', 'memory'],
    byDefault: constant(0, '`0`'),
    help: 'MB of memory that the node keeps from tasks.',
    read: (config) => config.client.reserved.memoryMB,
  }),
  reservedDisk: option({
    kind: amount,
    file: ['client', 'reserved', 'disk'],
    byDefault: constant(0, '`0`'),
    help: 'MB of disk that the node keeps from tasks.',
    read: (config) => config.client.reserved.diskMB,
  }),
  reservedPorts: option({
    kind: portRanges,
    file: ['client', 'reserved', 'reserved_ports'],
    byDefault: constant('', 'none'),
    help: 'Ports of the machine that no task is given, such as `22,80,8500-8600`.',
    read: (config) => config.client.reserved.ports,
  }),
  ...clientOptions,
  ...driverOptions,
  ...dockerOptions,
  acl: option({
    kind: bool,
    file: ['acl', 'enabled'],
    environment: 'REEVE_ACL',
    flag: { long: '--acl' },
    byDefault: computed('`true`; `false` with `--dev`', ({ dev }) => !dev),
    help: 'Whether `/v1` asks for tokens. `/api/v2` always does.',
    read: (config) => config.acl.enabled,
  }),
  ...tlsOptions,
  logLevel: option({
    kind: oneOf(LOG_LEVELS),
    file: ['log_level'],
    environment: 'REEVE_LOG_LEVEL',
    flag: { long: '--log-level', argument: 'LEVEL' },
    byDefault: constant('info' as const, '`info`'),
    help:
      'The least level that is logged. `debug` adds a line for each answered request, each commit ' +
      'and each event of a task.',
    read: (config) => config.log.level,
  }),
  logJson: option({
    kind: bool,
    file: ['log_json'],
    environment: 'REEVE_LOG_JSON',
    flag: { long: '--log-json' },
    byDefault: computed(
      '`false` where standard error is a terminal, else `true`',
      ({ isErrorTerminal }) => !isErrorTerminal,
    ),
    help: 'Log lines as JSON instead of text for people.',
    read: (config) => config.log.json,
  }),
  eventLogAge: option({
    kind: duration({ msMin: 60_000, msMax: 366 * 24 * HOUR_MS }),
    file: ['event_log', 'max_age'],
    environment: 'REEVE_EVENT_LOG_MAX_AGE',
    byDefault: constant(24 * HOUR_MS, '`24h`'),
    help: 'How long events are kept for readers that resume the event stream.',
    read: (config) => config.eventLog.ageMsMax,
  }),
  eventLogCommits: option({
    kind: integer({ min: 1_000, max: 100_000_000 }),
    file: ['event_log', 'max_commits'],
    environment: 'REEVE_EVENT_LOG_MAX_COMMITS',
    byDefault: constant(100_000, '`100000`'),
    help: 'How many of the latest changes are kept for them at most.',
    read: (config) => config.eventLog.commitsMax,
  }),
  auditAge: option({
    kind: duration({ msMin: HOUR_MS, msMax: 10 * 366 * 24 * HOUR_MS }),
    file: ['audit', 'max_age'],
    environment: 'REEVE_AUDIT_MAX_AGE',
    byDefault: constant(30 * 24 * HOUR_MS, '`720h`'),
    help: 'How long the records of writes on both APIs are kept.',
    read: (config) => config.audit.ageMsMax,
  }),
  auditRecords: option({
    kind: integer({ min: 1_000, max: 10_000_000 }),
    file: ['audit', 'max_records'],
    environment: 'REEVE_AUDIT_MAX_RECORDS',
    byDefault: constant(500_000, '`500000`'),
    help: 'How many of the latest records are kept at most; each takes about 1 kB of memory.',
    read: (config) => config.audit.recordsMax,
  }),
  ...backupOptions,
  ...infrastructureOptions,
  ...tracingOptions,
  corsOrigins: option({
    kind: listOf(origin),
    file: ['http_api_cors_origins'],
    environment: 'REEVE_HTTP_API_CORS_ORIGINS',
    byDefault: constant(noTexts, 'none'),
    help: 'Origins whose pages may read answers in a browser; `*` is any.',
    read: (config) => config.http.corsOrigins,
  }),
  responseHeaders: option({
    kind: headers,
    file: ['http_api_response_headers'],
    byDefault: constant(noNames, 'none'),
    help: 'Headers that every answer carries.',
    read: (config) => config.http.responseHeaders,
  }),
  plainHttp: option({
    kind: bool,
    file: ['plain_http'],
    environment: 'REEVE_PLAIN_HTTP',
    flag: { long: '--plain-http' },
    byDefault: constant(false, '`false`'),
    help:
      "Uses only documented members of the runtime's HTTP classes. Small reads and parked queries " +
      'then cost more; for a runtime whose HTTP classes differ.',
    read: (config) => config.http.isPlain,
  }),
  requestsPerSecond: option({
    kind: integer({ min: 0, max: 1_000_000 }),
    file: ['http_api_max_requests_per_second'],
    environment: 'REEVE_HTTP_API_MAX_REQUESTS_PER_SECOND',
    byDefault: constant(100, '`100`'),
    help: 'Requests to `/api/v2` each second of one user, or of one address without token; 0 is any.',
    read: (config) => config.http.requestsPerSecondMax,
  }),
  externalUrl: option({
    kind: optionalOrigin,
    file: ['http_api_external_url'],
    environment: 'REEVE_HTTP_API_EXTERNAL_URL',
    byDefault: constant('', 'none: as each request says'),
    help:
      'How callers reach this server through a proxy, without a path; links in lists of ' +
      '`/api/v2` begin with it.',
    read: (config) => config.http.externalUrl,
  }),
  ...limitOptions,
}

export type OptionName = keyof typeof options

/** The merged values of all settings. */
export type Settings = {
  readonly [Name in OptionName]: (typeof options)[Name] extends Option<infer T, infer D>
    ? T | D
    : never
}

export const optionEntries: readonly (readonly [OptionName, Option<unknown>])[] =
  // Object.entries() loses the key type; the literal has no other keys.
  Object.entries(options) as [OptionName, Option<unknown>][]
