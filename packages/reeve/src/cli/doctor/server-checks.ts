import type { AgentMember, MetricGauge } from '@reeve/contract'
import { ApiError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { DAY_MS } from '../output/format.ts'

/** The result of a check. */
export interface Finding {
  readonly state: 'ok' | 'warning' | 'bad'
  readonly what: string
  /** What to do about it. */
  readonly next: string | undefined
}

const NODES_PER_PAGE = 1_000
/** A certificate that ends sooner should be replaced now. */
const CERTIFICATE_DAYS_MIN = 14
/** Minimum share of free disk space; below it, writes may soon be rejected. */
const FREE_RATIO_MIN = 0.1

type Gauge = Pick<MetricGauge, 'Name' | 'Value'>

/** Checks the node connections, certificate and disk of the responding server. */
export async function checkServerHealth(invocation: CommandContext): Promise<readonly Finding[]> {
  const { client, host } = invocation
  const { data } = await client.v1.readMetrics()
  const { Gauges: gauges } = data
  const leads = gaugeValue(gauges, 'service_leader') === 1
  const ready = leads ? await countReadyNodes(invocation) : undefined
  return [
    ...connectionFindings(gauges, ready),
    ...certificateFindings(gauges, host.nowMs()),
    ...diskFindings(gauges),
  ]
}

export async function countReadyNodes({
  client,
  signal,
}: Pick<CommandContext, 'client' | 'signal'>): Promise<number> {
  let ready = 0
  const query = { per_page: NODES_PER_PAGE }
  for await (const { Status } of client.pages('listNodes', { query, signal }))
    if (Status === 'ready') ready += 1
  return ready
}

/**
 * Compares the connected nodes with the ready ones: a node keeps its status for a while after it
 * has lost its connection. Only the leader has connections of nodes, so other servers report none.
 */
export function connectionFindings(
  gauges: readonly Gauge[],
  ready: number | undefined,
): readonly Finding[] {
  const connected = gaugeValue(gauges, 'service_nodes_connected')
  if (ready === undefined || ready === 0 || connected === undefined) return []
  if (connected >= ready) return [okFinding(`All ready nodes are connected (${connected}).`)]
  return [
    {
      state: connected === 0 ? 'bad' : 'warning',
      what: `${connected} of ${ready} ready nodes are connected to the leader.`,
      next:
        'The others become "down" after the heartbeat grace period. Check that their agents run ' +
        'and reach the servers.',
    },
  ]
}

export function certificateFindings(gauges: readonly Gauge[], nowMs: number): readonly Finding[] {
  const expiry = gaugeValue(gauges, 'service_certificate_expiry_timestamp_seconds')
  if (expiry === undefined) return []
  const days = Math.floor((expiry * 1_000 - nowMs) / DAY_MS)
  if (days >= CERTIFICATE_DAYS_MIN)
    return [okFinding(`The certificate of the server is valid for ${days} more days.`)]
  const until = new Date(expiry * 1_000).toISOString()
  return [
    {
      state: days < 0 ? 'bad' : 'warning',
      what: `The certificate of the server ${days < 0 ? 'was' : 'is'} valid until ${until}.`,
      next: 'Replace it and send SIGHUP to the agent (docs/how-to/tls.md).',
    },
  ]
}

export function diskFindings(gauges: readonly Gauge[]): readonly Finding[] {
  const ratio = gaugeValue(gauges, 'service_storage_free_ratio')
  if (ratio === undefined) return []
  const percent = Math.floor(ratio * 100)
  if (ratio >= FREE_RATIO_MIN) return [okFinding(`The disk of the server has ${percent} % free.`)]
  return [
    {
      state: 'warning',
      what: `The disk of the server has only ${percent} % free.`,
      next:
        'On a full disk a server answers reads and accepts only what frees space ' +
        '(docs/how-to/back-up-and-restore.md).',
    },
  ]
}

function gaugeValue(gauges: readonly Gauge[], metric: string): number | undefined {
  return gauges.find(({ Name }) => Name === metric)?.Value
}

function okFinding(what: string): Finding {
  return { state: 'ok', what, next: undefined }
}

const NAMED_MAX = 5

/**
 * Whether the servers of the cluster and of its known regions are reachable
 * (docs/how-to/run-several-servers.md).
 */
export async function checkServers({ client }: CommandContext): Promise<readonly Finding[]> {
  try {
    const { data } = await client.v1.listAgentMembers()
    return serversFindings(data.Members, data.ServerRegion)
  } catch (thrown) {
    // Other checks report the missing permission.
    if (thrown instanceof ApiError && thrown.status === 403) return []
    throw thrown
  }
}

type Server = Pick<AgentMember, 'Name' | 'Status' | 'Tags'>

/**
 * Reports failed servers. Servers that left on purpose are ignored, and a single server is covered
 * by the other checks.
 */
export function serversFindings(members: readonly Server[], ownRegion: string): readonly Finding[] {
  const staying = members.filter(({ Status }) => Status !== 'left')
  const failed = staying.filter(({ Status }) => Status === 'failed')
  const there = staying.length - failed.length
  const alive: readonly Finding[] =
    staying.length < 2
      ? []
      : [{ state: 'ok', what: `${there} of ${staying.length} servers are there.`, next: undefined }]
  const isOwn = ({ Tags }: Server): boolean => (Tags['region'] ?? ownRegion) === ownRegion
  return [
    ...alive,
    ...notResponding(failed.filter(isOwn), SAME_REGION_ADVICE),
    ...notResponding(
      failed.filter((one) => !isOwn(one)),
      OTHER_REGION_ADVICE,
    ),
  ]
}

/** Servers of one region detect each other through the shared database. */
const SAME_REGION_ADVICE =
  'Look at its log, and whether it reaches the database; "reeve server members" lists all.'

/** Servers of other regions are reached over the network. */
const OTHER_REGION_ADVICE =
  'Look whether it runs, and at the network and the certificates between the regions; ' +
  '"reeve server members" lists all.'

function notResponding(failed: readonly Server[], next: string): readonly Finding[] {
  if (failed.length === 0) return []
  const names = failed.slice(0, NAMED_MAX).map(({ Name }) => `"${Name}"`)
  const more = failed.length > NAMED_MAX ? ' and others' : ''
  const [what, verb] = failed.length === 1 ? ['Server', 'is'] : ['Servers', 'are']
  return [
    { state: 'warning', what: `${what} ${names.join(', ')}${more} ${verb} not responding.`, next },
  ]
}

/** Share of a limit from which on an operator should know. */
const WARNING_RATIO = 0.8

/** The limits in force on the server that answers, and how near its busiest client is to each. */
export async function checkLimits({ client }: CommandContext): Promise<readonly Finding[]> {
  const { data } = await client.v1.readMetrics()
  return limitsFindings(data.Gauges)
}

type LabeledGauge = Pick<MetricGauge, 'Name' | 'Value' | 'Labels'>

/** One line for all limits, and one for each that is near or has rejected requests. */
export function limitsFindings(gauges: readonly LabeledGauge[]): readonly Finding[] {
  const limits = valuesOf(gauges, 'service_limit', 'limit')
  const used = valuesOf(gauges, 'service_limit_used', 'limit')
  const rejected = valuesOf(gauges, 'service_requests_rejected_total', 'reason')
  if (limits.size === 0) return []
  const shown = [...limits].map(([name, max]) => `${name} ${used.get(name) ?? 0} of ${max}`)
  const all: Finding = {
    state: 'ok',
    what: `Highest use of the limits of this server by one client: ${shown.join(', ')}.`,
    next: undefined,
  }
  const near = [...limits].flatMap(([name, max]) =>
    nearFindings({ name, max, used: used.get(name) ?? 0, rejected: rejected.get(name) ?? 0 }),
  )
  return [all, ...near]
}

interface Limit {
  readonly name: string
  readonly max: number
  readonly used: number
  readonly rejected: number
}

function nearFindings({ name, max, used, rejected }: Limit): readonly Finding[] {
  if (used < max * WARNING_RATIO && rejected === 0) return []
  const since = rejected === 1 ? '1 request was' : `${rejected} requests were`
  return [
    {
      state: 'warning',
      what: `Limit ${name}: ${used} of ${max} in use; ${since} rejected since the server started.`,
      next: name === 'open_files' ? FILES_ADVICE : LIMIT_ADVICE,
    },
  ]
}

const LIMIT_ADVICE =
  'docs/reference/limits.md lists every limit with its setting; raise it or find the client in the audit log.'

const FILES_ADVICE =
  'Raise the limit with LimitNOFILE= in the unit of the service, or ulimit -n, and restart; ' +
  'docs/reference/limits.md says how many a server needs.'

function valuesOf(
  gauges: readonly LabeledGauge[],
  metric: string,
  label: string,
): ReadonlyMap<string, number> {
  return new Map(
    gauges
      .filter(({ Name }) => Name === metric)
      .map(({ Value, Labels }) => [Labels[label] ?? '', Value]),
  )
}

/** Intervals without a backup that are tolerated. */
const INTERVALS_MAX = 2

/** Age of the last verified backup, if backups are on (docs/how-to/back-up-and-restore.md). */
export async function checkBackups({ client }: CommandContext): Promise<readonly Finding[]> {
  try {
    const { data } = await client.v1.readAgentSelf()
    return backupFindings(data.stats['backup'])
  } catch (thrown) {
    // Other checks report the missing permission.
    if (thrown instanceof ApiError && thrown.status === 403) return []
    throw thrown
  }
}

export function backupFindings(
  stats: Readonly<Record<string, string>> | undefined,
): readonly Finding[] {
  if (stats === undefined) return []
  const { target = '', error = '', last_good: last = '' } = stats
  const ageSeconds = Number(stats['age_seconds'] ?? 0)
  const limit = Number(stats['interval_seconds'] ?? 0) * INTERVALS_MAX
  const age =
    last === ''
      ? 'There is no verified backup yet'
      : `The last verified backup is ${formatBackupAge(ageSeconds)} old`
  const what = `${age} (${target})${error === '' ? '.' : `: ${error}`}`
  if (error === '' && ageSeconds <= limit) return [{ state: 'ok', what, next: undefined }]
  return [
    {
      state: ageSeconds > limit ? 'bad' : 'warning',
      what,
      next: 'Check the settings under backup and the log of the leading server.',
    },
  ]
}

function formatBackupAge(seconds: number): string {
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`
}

/** Maximum lag: replicas are refreshed every few seconds. */
const LAG_MS_MAX = 15_000

/** Age of the replicas of the authoritative region, if there is one (docs/how-to/regions.md). */
export async function checkReplication({ client }: CommandContext): Promise<readonly Finding[]> {
  try {
    const { data } = await client.v1.readAgentSelf()
    return replicationFindings(data.stats['replication'])
  } catch (thrown) {
    // Other checks report the missing permission.
    if (thrown instanceof ApiError && thrown.status === 403) return []
    throw thrown
  }
}

export function replicationFindings(
  stats: Readonly<Record<string, string>> | undefined,
): readonly Finding[] {
  // Only the leader replicates; other servers report their role instead.
  if (stats === undefined || stats['role'] !== undefined) return []
  const region = stats['authoritative_region'] ?? ''
  const lagMs = Number(stats['lag_ms'] ?? Number.POSITIVE_INFINITY)
  const [error] = Object.entries(stats).filter(([name]) => name.endsWith('_error'))
  if (error === undefined && lagMs <= LAG_MS_MAX) {
    const what = `Policies, roles and global tokens are those of region "${region}".`
    return [{ state: 'ok', what, next: undefined }]
  }
  const why = error === undefined ? '' : `: ${error[1]}`
  return [
    {
      state: 'warning',
      what: `The copies of region "${region}" ${formatReplicaAge(lagMs)}${why}.`,
      next: 'Look whether that region answers, and at acl.replication_token (docs/how-to/regions.md).',
    },
  ]
}

function formatReplicaAge(lagMs: number): string {
  return Number.isFinite(lagMs)
    ? `may be ${Math.round(lagMs / 1_000)} s old`
    : 'may be of any age, for they were not compared since this server leads'
}
