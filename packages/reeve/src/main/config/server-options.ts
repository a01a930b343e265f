import { err, ok } from '@reeve/kit/result.ts'
import { isList, isObject, type Value } from '@reeve/hcl'
import { LIMITS } from '../../model/index.ts'
import { formatAddress, HTTP_PORT, parseAddress } from './address.ts'
import type { BackupConfig, Secret } from './agent-config.ts'
import { constant, option, type OptionType } from './option.ts'
import { stringMatching, secret, bool, integer, duration, path } from './option-types.ts'

/** Server URLs by region. */
type RegionAddresses = Readonly<Record<string, readonly string[]>>

const REGIONS_MAX = 64
const ADDRESSES_MAX = 64

const REGION_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
const REGION_RULE =
  'the name of a region: 1 to 128 letters, digits, ".", "_" and "-", the first a letter or digit'
const REGIONS_RULE =
  `at most ${REGIONS_MAX} blocks \`region "name" { addresses = ["https://10.0.0.1:4646"] }\`, ` +
  `each with 1 to ${ADDRESSES_MAX} addresses of servers`

const otherRegions: OptionType<RegionAddresses> = {
  name: 'labelled blocks',
  flag: 'once',
  isMap: true,
  isLabelled: true,
  isSecret: false,
  fromValue: (value) => {
    const pairs = isObject(value) ? Object.entries(value) : undefined
    if (pairs === undefined || pairs.length > REGIONS_MAX) return err(REGIONS_RULE)
    const regions: [string, readonly string[]][] = []
    for (const [name, fields] of pairs) {
      const addresses = REGION_NAME.test(name) ? readAddresses(fields) : undefined
      if (addresses === undefined)
        return err(`${REGIONS_RULE} (look at ${JSON.stringify(name.slice(0, 64))})`)
      regions.push([name, addresses])
    }
    return ok(Object.fromEntries(regions))
  },
  fromString: () => err(`${REGIONS_RULE}, which only a file can hold`),
  merge: (lower, higher) => ({ ...lower, ...higher }),
  toJson: (value) =>
    Object.fromEntries(Object.entries(value).map(([name, addresses]) => [name, { addresses }])),
}

function readAddresses(fields: Value): readonly string[] | undefined {
  if (!isObject(fields)) return undefined
  const { addresses = null, ...others } = fields
  if (!isList(addresses) || Object.keys(others).length > 0) return undefined
  if (addresses.length === 0 || addresses.length > ADDRESSES_MAX) return undefined
  const origins = addresses.map((one) => (typeof one === 'string' ? parseOrigin(one) : undefined))
  return origins.every((one) => one !== undefined) ? origins : undefined
}

/** Parses a server origin: URLs are kept; `host` and `host:port` use plain HTTP. */
function parseOrigin(text: string): string | undefined {
  if (/^https?:\/\//.test(text)) return URL.parse(text)?.origin === text ? text : undefined
  const parsed = parseAddress(text)
  return parsed && `http://${formatAddress(parsed.host, parsed.port ?? HTTP_PORT)}`
}

const noRegions: RegionAddresses = {}

/** Settings for federated regions (docs/how-to/regions.md). */
export const regionOptions = {
  otherRegions: option({
    kind: otherRegions,
    file: ['server', 'region'],
    byDefault: constant(noRegions, 'none'),
    help:
      'Servers of other regions, by the name of the region: requests for it are passed on to them. ' +
      'A block for the own region is allowed and not used, so that one file serves every region.',
    read: (config) => config.server.regions.others,
  }),
  authoritativeRegion: option({
    kind: stringMatching(REGION_RULE, REGION_NAME),
    file: ['server', 'authoritative_region'],
    environment: 'REEVE_AUTHORITATIVE_REGION',
    byDefault: constant(undefined, 'the own region'),
    help:
      'The region in which ACL policies, roles, global tokens, namespaces and node pools are ' +
      'written; every other one keeps copies of them.',
    read: (config) => config.server.regions.authoritative,
  }),
  replicationToken: option({
    kind: secret,
    file: ['acl', 'replication_token'],
    environment: 'REEVE_REPLICATION_TOKEN',
    byDefault: constant(
      undefined,
      'none: needed where another region is authoritative, with ACLs on',
    ),
    help:
      'The secret of a global management token: the servers of this region read with it what they ' +
      'copy, and how roll-outs of multi-region jobs stand in other regions.',
    read: (config) => config.server.regions.replicationToken,
  }),
}

const nodesPerMinute = integer({ min: 0, max: 1_000_000 })

/** Settings for the admission of unknown nodes. */
export const admissionOptions = {
  joinToken: option({
    kind: secret,
    file: ['join_token'],
    environment: 'REEVE_JOIN_TOKEN',
    byDefault: constant(
      undefined,
      'a server makes one at its first start: `server/join-token` in its data directory',
    ),
    help:
      'Admits new nodes. On servers: the shared token, until it is rotated. On a node: that ' +
      'token, or one of its own (`reeve node join-token create`), which it shows until it is ' +
      'known. There is no flag, because flags are seen by every user of a machine.',
    read: (config) => config.server.joinToken,
  }),
  nodeJoinToken: option({
    kind: secret,
    file: ['client', 'join_token'],
    environment: 'REEVE_NODE_JOIN_TOKEN',
    byDefault: constant(undefined, 'the same as `join_token`'),
    help: 'The join token that the node shows, where the agent is a server too.',
    read: (config) => config.client.joinToken,
  }),
  sharedJoinToken: option({
    kind: bool,
    file: ['server', 'shared_join_token'],
    environment: 'REEVE_SHARED_JOIN_TOKEN',
    byDefault: constant(true, '`true`'),
    help:
      'Whether the shared join token admits new nodes. `false`: each new node needs a join token ' +
      'of its own. The same on all servers.',
    read: (config) => config.server.admission.allowsSharedToken,
  }),
  newNodesPerMinute: option({
    kind: nodesPerMinute,
    file: ['server', 'max_new_nodes_per_minute'],
    environment: 'REEVE_MAX_NEW_NODES_PER_MINUTE',
    byDefault: constant(1_200, '`1200`'),
    help: 'New nodes that a server admits each minute; others are refused and retry. 0 is any.',
    read: (config) => config.server.admission.newNodesPerMinuteMax,
  }),
  newNodesPerAddress: option({
    kind: nodesPerMinute,
    file: ['server', 'max_new_nodes_per_minute_per_address'],
    environment: 'REEVE_MAX_NEW_NODES_PER_MINUTE_PER_ADDRESS',
    byDefault: constant(120, '`120`'),
    help: 'The same for one IP address. Raise it where many nodes join from behind one address.',
    read: (config) => config.server.admission.newNodesPerAddressMax,
  }),
}

const RATE_MAX = 1_000_000
const STREAMS_MAX = 50_000

function codeDefault(value: number) {
  return constant(value, `\`${value}\``)
}

/** Settings of the block `limits`, which bounds the load that one client may cause. */
export const limitOptions = {
  limitRequests: option({
    kind: integer({ min: 0, max: RATE_MAX }),
    file: ['limits', 'requests_per_second'],
    environment: 'REEVE_LIMITS_REQUESTS_PER_SECOND',
    byDefault: constant(5_000, '`5000`'),
    help: 'Requests each second of one token, where ACLs are enabled; 0 is any number.',
    read: (config) => config.limits.requestsPerSecond,
  }),
  limitAnonymousRequests: option({
    kind: integer({ min: 0, max: RATE_MAX }),
    file: ['limits', 'anonymous_requests_per_second'],
    environment: 'REEVE_LIMITS_ANONYMOUS_REQUESTS_PER_SECOND',
    byDefault: constant(1_000, '`1000`'),
    help:
      'Requests each second of one address without a valid token, where ACLs are enabled; 0 is ' +
      'any number.',
    read: (config) => config.limits.anonymousRequestsPerSecond,
  }),
  limitBlockingQueries: option({
    kind: integer({ min: 1, max: 50_000 }),
    file: ['limits', 'blocking_queries_per_token'],
    environment: 'REEVE_LIMITS_BLOCKING_QUERIES_PER_TOKEN',
    byDefault: constant(1_024, '`1024`'),
    help: 'Blocking queries of one token that may wait at the same time, where ACLs are enabled.',
    read: (config) => config.limits.blockingQueriesPerToken,
  }),
  limitEventStreams: option({
    kind: integer({ min: 1, max: STREAMS_MAX }),
    file: ['limits', 'event_streams_per_token'],
    environment: 'REEVE_LIMITS_EVENT_STREAMS_PER_TOKEN',
    byDefault: codeDefault(LIMITS.eventStreamsPerToken),
    help: 'Event streams that one token may have open at the same time, where ACLs are enabled.',
    read: (config) => config.limits.eventStreamsPerToken,
  }),
  limitExecSessions: option({
    kind: integer({ min: 1, max: STREAMS_MAX }),
    file: ['limits', 'exec_sessions_per_token'],
    environment: 'REEVE_LIMITS_EXEC_SESSIONS_PER_TOKEN',
    byDefault: codeDefault(LIMITS.execSessionsPerToken),
    help:
      'Exec sessions and job actions that one token may have open at the same time, where ACLs ' +
      'are enabled.',
    read: (config) => config.limits.execSessionsPerToken,
  }),
  limitLogStreams: option({
    kind: integer({ min: 1, max: STREAMS_MAX }),
    file: ['limits', 'log_streams_per_token'],
    environment: 'REEVE_LIMITS_LOG_STREAMS_PER_TOKEN',
    byDefault: codeDefault(LIMITS.logStreamsPerToken),
    help:
      'Logs and files that one token may read or follow at the same time, where ACLs are enabled. ' +
      'The merged log of a job takes one for each task.',
    read: (config) => config.limits.logStreamsPerToken,
  }),
  limitConnections: option({
    kind: integer({ min: 16, max: 1_000_000 }),
    file: ['limits', 'connections'],
    environment: 'REEVE_LIMITS_CONNECTIONS',
    byDefault: constant(16_384, '`16384`'),
    help:
      'Connections that a server accepts, those of nodes included. Fewer where the process may ' +
      'open fewer files.',
    read: (config) => config.limits.connectionsMax,
  }),
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

const s3Address = stringMatching(
  'a URL such as https://s3.eu-central-1.amazonaws.com/bucket/prefix',
  /^https?:\/\/[^\s/?#@]+\/[^\s?#]{1,1024}$/,
)
const s3Region = stringMatching('the name of a region', /^[A-Za-z0-9-]{1,64}$/)
const accessKey = stringMatching('the ID of an access key', /^\S{1,256}$/)

/** Backups of the state on a timer. See docs/how-to/back-up-and-restore.md. */
export const backupOptions = {
  backupInterval: option({
    kind: duration({ msMin: MINUTE_MS, msMax: 366 * DAY_MS }),
    file: ['backup', 'interval'],
    environment: 'REEVE_BACKUP_INTERVAL',
    byDefault: constant(undefined, 'none are made'),
    help: 'How often the server that leads saves a snapshot of the state and verifies it.',
    read: (config) => config.backup.intervalMs,
  }),
  backupKeep: option({
    kind: integer({ min: 1, max: 10_000 }),
    file: ['backup', 'keep'],
    environment: 'REEVE_BACKUP_KEEP',
    byDefault: constant(7, '`7`'),
    help: 'How many backups are kept; older ones are removed after a new one was verified.',
    read: (config) => config.backup.keep,
  }),
  backupDirectory: option({
    kind: path,
    file: ['backup', 'directory'],
    environment: 'REEVE_BACKUP_DIRECTORY',
    byDefault: constant(undefined, 'none'),
    help: 'The directory that they are written to, on another disk than `data_dir`.',
    read: (config) => config.backup.directory,
  }),
  backupS3Address: option({
    kind: s3Address,
    file: ['backup', 's3', 'address'],
    environment: 'REEVE_BACKUP_S3_ADDRESS',
    byDefault: constant(undefined, 'none'),
    help: 'Instead of a directory, the URL of a bucket and prefix of an S3-compatible service.',
    read: (config) => config.backup.s3.address,
  }),
  backupS3Region: option({
    kind: s3Region,
    file: ['backup', 's3', 'region'],
    environment: 'REEVE_BACKUP_S3_REGION',
    byDefault: constant('us-east-1', '`us-east-1`'),
    help: 'The region of the bucket.',
    read: (config) => config.backup.s3.region,
  }),
  backupS3AccessKey: option({
    kind: accessKey,
    file: ['backup', 's3', 'access_key'],
    environment: 'REEVE_BACKUP_S3_ACCESS_KEY',
    byDefault: constant(undefined, 'none'),
    help: 'The ID of an access key that may list, read, write and delete objects under the prefix.',
    read: (config) => config.backup.s3.accessKey,
  }),
  backupS3SecretKey: option({
    kind: secret,
    file: ['backup', 's3', 'secret_key'],
    environment: 'REEVE_BACKUP_S3_SECRET_KEY',
    byDefault: constant(undefined, 'none'),
    help: 'The secret of that access key.',
    read: (config) => config.backup.s3.secretKey,
  }),
}

interface BackupSettings {
  readonly backupInterval: number | undefined
  readonly backupKeep: number
  readonly backupDirectory: string | undefined
  readonly backupS3Address: string | undefined
  readonly backupS3Region: string
  readonly backupS3AccessKey: string | undefined
  readonly backupS3SecretKey: Secret | undefined
}

export function backupConfig(settings: BackupSettings): BackupConfig {
  return {
    intervalMs: settings.backupInterval,
    keep: settings.backupKeep,
    directory: settings.backupDirectory,
    s3: {
      address: settings.backupS3Address,
      region: settings.backupS3Region,
      accessKey: settings.backupS3AccessKey,
      secretKey: settings.backupS3SecretKey,
    },
  }
}

/** Describes a missing or conflicting backup setting; undefined if there is none. */
export function findBackupProblem(settings: BackupSettings): string | undefined {
  const { backupInterval, backupDirectory, backupS3Address } = settings
  if (backupInterval === undefined) return undefined
  if (backupDirectory === undefined && backupS3Address === undefined)
    return 'backup.interval is set, but not where backups go: set backup.directory, or backup.s3.'
  if (backupDirectory !== undefined && backupS3Address !== undefined)
    return 'Backups go to backup.directory or to backup.s3, not to both: remove one of them.'
  const hasKeys =
    settings.backupS3AccessKey !== undefined && settings.backupS3SecretKey !== undefined
  if (backupS3Address !== undefined && !hasKeys) return 'backup.s3 needs access_key and secret_key.'
  return undefined
}
