import { Value } from 'typebox/value'
import {
  v1Routes,
  type AgentHealth,
  type AgentMember,
  type HostData,
  AgentMembers,
} from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import type { LogFeed } from '@reeve/kit/log-feed.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { SliceOptions } from '@reeve/kit/slices.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import { json, TEXT_PLAIN, type HttpResponse } from '../response.ts'
import { sliceOptions } from '../list-page.ts'
import { agentMember, type RemoteRegions, type WorkloadContext } from '../../workload/index.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { read, type Endpoint, type WatchedRead } from './endpoint.ts'
import { agentRead, allowAll, nodeRead } from './access.ts'

/** Information about the agent; provided by the composition root. */
export interface AgentInfo {
  readonly region: string
  readonly datacenter: string
  /** Returns every known region; by default only this one. */
  readonly regions?: () => readonly string[]
  /** `host:port` of the leader; empty if there is none. */
  readonly leader: () => string
  readonly peers: () => readonly string[]
  /** Returns this agent. */
  readonly member: () => AgentMember
  /** Reports whether `server` is the name of this agent, with or without its region. */
  readonly isNamed: (server: string) => boolean
  /** Returns the known servers of the cluster, including this one. */
  readonly members: () => readonly AgentMember[]
  /** Returns the effective configuration with secrets redacted. */
  readonly config: () => object
  readonly stats: () => Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly health: () => AgentHealth
  /** Returns the ID of the node in this process, if any. */
  readonly nodeId?: () => string | undefined
  /** The log of this process. */
  readonly feed: LogFeed
  /** The machine of this process. */
  readonly host: () => Promise<HostData>
  /** The servers that the node in this process connects to; undefined without a node. */
  readonly nodeServers: () => NodeServers | undefined
  /** Marks a server that has failed as left, or removes it from the list of members. */
  readonly forceLeave: (name: string, prune: boolean) => Promise<ForceLeaveOutcome>
  /**
   * Returns the number of acknowledged commits that are missing from the database of the cluster.
   */
  readonly commitsLost?: () => number
  /**
   * Accepts the loss of commits, so that the cluster continues; `by` is who decided it. Returns the
   * lost ranges. Undefined if no database is shared.
   */
  readonly acceptLoss?: (by: string) => Promise<readonly AcceptedLoss[] | undefined>
}

/** `alive` and `unknown`: nothing was changed. */
export type ForceLeaveOutcome = 'done' | 'alive' | 'unknown'

export interface NodeServers {
  /** `host:port` of each, as the node knows them. */
  list(): readonly string[]
  /** Replaces them for the next connection. Returns the reason if nothing was changed. */
  set(addresses: readonly string[]): Promise<string | undefined>
}

/** A range of lost commits by index, both ends included. */
interface AcceptedLoss {
  readonly fromIndex: number
  readonly toIndex: number
}

/** Metrics of an agent. */
export interface AgentMetrics {
  /** Metrics of the program, which need no permission. */
  readonly program: Metrics
  /** Metrics with names of jobs and nodes, filtered by the permissions of the secret. */
  readonly namedText: (secret: string | undefined, slices: SliceOptions) => Promise<string>
}

/** Returns the routes for health, self, members, status, regions and metrics. */
export function agentEndpoints(
  context: WorkloadContext,
  agent: AgentInfo,
  metrics: AgentMetrics,
): readonly Endpoint[] {
  return [
    ...unauthorizedEndpoints(agent, metrics),
    read(v1Routes.readAgentSelf, agentRead, () =>
      now(() => json({ config: agent.config(), stats: agent.stats(), member: agent.member() })),
    ),
    read(v1Routes.listAgentMembers, nodeRead, ({ token, isRegionalSubrequest }) =>
      now(async () => {
        // A request from another region is for this region's part only, so it is not forwarded
        // again.
        const remote = isRegionalSubrequest ? [] : await remoteMembers(context, token)
        return json({
          ServerName: agent.member().Name,
          ServerRegion: agent.region,
          ServerDC: agent.datacenter,
          Members: [...agent.members(), ...remote],
        })
      }),
    ),
  ]
}

/** Routes without authorization, which therefore also accept an expired token. */
function unauthorizedEndpoints(agent: AgentInfo, metrics: AgentMetrics): readonly Endpoint[] {
  const endpoints = [
    read(v1Routes.readAgentHealth, allowAll, ({ query }) => {
      const types = (query.type ?? []).filter((type) => type !== '')
      return types.every(isHealthPart)
        ? now(() => healthResponse(agent, types))
        : err(UNKNOWN_HEALTH_PART)
    }),
    read(v1Routes.readLeader, allowAll, () => now(() => json(agent.leader()))),
    read(v1Routes.listPeers, allowAll, () => now(() => json(agent.peers()))),
    read(v1Routes.listRegions, allowAll, () =>
      now(() => json(agent.regions?.() ?? [agent.region])),
    ),
    read(v1Routes.readMetrics, allowAll, ({ query, token, yieldTurn }) =>
      now(async () => {
        if (query.format !== 'prometheus') return json(await metrics.program.report())
        const { text, contentType } = await metrics.program.text()
        const named = await metrics.namedText(token, sliceOptions(yieldTurn))
        return { body: { kind: 'text', text: `${text}${named}`, contentType } }
      }),
    ),
  ]
  return endpoints.map((endpoint) => ({ ...endpoint, authentication: 'ignored' }))
}

/** Plans a read of the agent itself, not of the state: there is no index to wait for. */
function now(answer: () => HttpResponse | Promise<HttpResponse>): Result<WatchedRead, never> {
  return ok({
    index: () => 0,
    watch: [],
    readsState: false,
    respond: async () => ok(await answer()),
  })
}

const HEALTH_PARTS = ['client', 'server'] as const
type HealthPart = (typeof HEALTH_PARTS)[number]

// Reject unknown types: an empty selection would report healthy.
const UNKNOWN_HEALTH_PART: Refusal = refusal(
  'invalid-input',
  `type must be ${HEALTH_PARTS.join(' or ')}`,
)

function isHealthPart(text: string): text is HealthPart {
  return HEALTH_PARTS.some((part) => part === text)
}

/** Returns the health of the selected parts; 500 if one of them is unhealthy. */
function healthResponse(agent: AgentInfo, types: readonly HealthPart[]): HttpResponse {
  const allParts = agent.health()
  const isSelected = (part: HealthPart): boolean => types.length === 0 || types.includes(part)
  const body: Record<string, { ok: boolean; message: string }> = {}
  for (const part of HEALTH_PARTS) {
    if (!isSelected(part)) continue
    const status = allParts[part]
    if (status !== undefined) body[part] = status
    else if (types.includes(part)) body[part] = { ok: false, message: `${part} not enabled` }
  }
  if (Object.values(body).every((part) => part.ok)) return json(body)
  // JSON, but with the content type of errors.
  const text = JSON.stringify(body)
  return { status: 500, body: { kind: 'text', text, contentType: TEXT_PLAIN } }
}

/** Timeout of other regions: a user waits for the list. */
const RESPONSE_TIMEOUT_MS = 1_500

/**
 * Returns the servers of the other regions, sorted by region. Each region applies the caller's
 * permissions; one that does not respond is represented by its configured addresses.
 */
async function remoteMembers(
  { regions }: Pick<WorkloadContext, 'regions'>,
  secret: string | undefined,
): Promise<readonly AgentMember[]> {
  if (regions === undefined) return []
  const requests = regions.remoteNames().map((region) => membersIn(regions, region, secret ?? ''))
  return (await Promise.all(requests)).flat()
}

async function membersIn(
  regions: RemoteRegions,
  region: string,
  token: string,
): Promise<readonly AgentMember[]> {
  const call = {
    method: 'GET',
    url: '/v1/agent/members',
    token,
    responseTimeoutMs: RESPONSE_TIMEOUT_MS,
  }
  try {
    const { status, text } = await regions.request(region, call)
    // The caller may not list the servers of that region, so they are omitted.
    if (status === 403) return []
    if (status === 200) return parseMembers(text).filter(({ Tags }) => Tags['region'] === region)
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
  }
  return unreachableMembers(region, regions.addressesOf(region))
}

function parseMembers(text: string): readonly AgentMember[] {
  try {
    const body: unknown = JSON.parse(text)
    return Value.Check(AgentMembers, body) ? body.Members : []
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return []
    throw thrown
  }
}

function unreachableMembers(region: string, addresses: readonly string[]): readonly AgentMember[] {
  return addresses
    .map((address) => hostAndPort(address))
    .toSorted()
    .map((address) => {
      const Tags = { role: 'server', region }
      return agentMember({ name: address, region, address, Tags, Status: 'failed' })
    })
}

/** Returns `host:port` of `http://host:port`, also if the port is the scheme's default. */
function hostAndPort(address: string): string {
  const { host, port, protocol } = new URL(address)
  return port !== '' ? host : `${host}:${protocol === 'https:' ? 443 : 80}`
}
