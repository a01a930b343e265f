import {
  FOLLOWED_LEVELS,
  HostData,
  v1Routes,
  type FollowedLevel,
  type AgentMember,
} from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { TenantSlots } from '@reeve/kit/tenant-slots.ts'
import { checkUuid, refusal, type Refusal } from '../../model/index.ts'
import { unknownNode } from '../../workload/index.ts'
import { json, TEXT_PLAIN, type HttpResponse, EMPTY_RESPONSE } from '../response.ts'
import type { GracefulShutdown } from '../transport/shutdown.ts'
import type { AgentInfo } from './agent.ts'
import type { StreamingHost } from './client-operations.ts'
import { read, type Endpoint, type V1Request } from './endpoint.ts'
import { unwatchedRead, nodeRpc } from './node-rpc.ts'
import { agentRead, agentWrite } from './access.ts'
import { closeOnRevoke, followLocalLog, followNodeLog, withFrames } from '../../sessions/index.ts'

const askHostData = nodeRpc(HostData)

interface DiagnosisDeps extends StreamingHost {
  /** Streams end when the server stops. */
  readonly lifecycle: Pick<GracefulShutdown, 'trackStream'>
  /** Log streams of this server, by token. */
  readonly logFollowers: TenantSlots
}

/** Returns the routes for the log and the host data of a server or node. */
export function agentDiagnosisEndpoints(
  host: DiagnosisDeps,
  agent: AgentInfo,
): readonly Endpoint[] {
  return [
    read(v1Routes.monitorAgent, agentRead, (request) =>
      unwatchedRead(() => streamAgentLog(host, agent, request)),
    ),
    read(v1Routes.readAgentHost, agentRead, ({ query }) =>
      unwatchedRead(async () => {
        const nodeId = findNode(host, agent, query)
        if (!nodeId.ok) return nodeId
        const AgentID = nodeId.value ?? agent.member().Name
        if (nodeId.value === undefined) return ok(json({ AgentID, HostData: await agent.host() }))
        const request = { verb: 'host-data' } as const
        const data = await askHostData(host.gateway, { nodeId: nodeId.value, request })
        return data.ok ? ok(json({ AgentID, HostData: data.value })) : data
      }),
    ),
  ]
}

interface NamedAgent {
  readonly node_id?: string
  readonly server_id?: string
}

/**
 * Returns the ID of the named node; undefined for this server. Requests for other servers were
 * forwarded before.
 */
function findNode(
  { context }: StreamingHost,
  agent: AgentInfo,
  { node_id: nodeId = '', server_id: server = '' }: NamedAgent,
): Result<string | undefined, Refusal> {
  if (nodeId !== '' && server !== '')
    return err(refusal('invalid-input', 'Cannot target node and server simultaneously'))
  if (nodeId !== '') {
    const id = checkUuid('node', nodeId)
    if (!id.ok) return err(refusal('invalid-input', id.error))
    return context.store.tables.nodes.has(id.value) ? id : err(unknownNode(id.value))
  }
  // `leader` is routed to the leader, so here it means this server.
  const isThisServer = server === '' || server === 'leader' || agent.isNamed(server)
  return isThisServer ? ok(undefined) : err(unknownServer(server))
}

function unknownServer(name: string): Refusal {
  const text = `server ${JSON.stringify(name)} is unknown or not alive; \`reeve server members\` lists the servers`
  return refusal('server-not-found', text)
}

async function streamAgentLog(
  host: DiagnosisDeps,
  agent: AgentInfo,
  { caller, token, query }: V1Request<typeof v1Routes.monitorAgent>,
): Promise<Result<HttpResponse, Refusal>> {
  const level = parseLevel(query.log_level ?? '')
  if (level === undefined) return err(unknownLevel(query.log_level ?? ''))
  const nodeId = findNode(host, agent, query)
  if (!nodeId.ok) return nodeId
  const { context, authenticator, gateway, lifecycle, logFollowers: slots } = host
  const selection = { level, json: query.log_json ?? false }
  const { accessorId } = caller
  const lines =
    nodeId.value === undefined
      ? followLocalLog(agent.feed, selection, {
          slots,
          accessorId,
          trackStream: (close) => lifecycle.trackStream(close),
        })
      : await followNodeLog(gateway, nodeId.value, { selection, accessorId })
  if (!lines.ok) return lines
  const allowed = closeOnRevoke(lines.value, {
    context,
    authenticator,
    secret: token,
    isAllowed: (grants) => grants.agent('read'),
  })
  const isPlain = query.plain ?? false
  const stream = isPlain ? allowed : withFrames(allowed, context.clock)
  const contentType = isPlain ? TEXT_PLAIN : 'application/json'
  return ok({ body: { kind: 'stream', stream, contentType } })
}

/**
 * Parses a log level. `trace` is accepted because other clients send it; the lowest level is
 * `debug`.
 */
function parseLevel(text: string): FollowedLevel | undefined {
  const name = text.toLowerCase() || 'info'
  return name === 'trace' ? 'debug' : FOLLOWED_LEVELS.find((level) => level === name)
}

function unknownLevel(text: string): Refusal {
  const levels = FOLLOWED_LEVELS.join(', ')
  return refusal('invalid-input', `Unknown log level: ${text}; use one of ${levels}`)
}

/** Addresses per request: a cluster has a handful of servers. */
const ADDRESSES_MAX = 64

/**
 * Returns the routes for the servers that a node connects to and for the members of the cluster.
 */
export function agentServerEndpoints(agent: AgentInfo): readonly Endpoint[] {
  return [
    read(v1Routes.listAgentServers, agentRead, () =>
      unwatchedRead(async () => ok(json(agent.nodeServers()?.list() ?? agent.peers()))),
    ),
    read(v1Routes.setAgentServers, agentWrite, ({ query }) =>
      unwatchedRead(async () => {
        const addresses = parseAddresses(query.address)
        if (!addresses.ok) return addresses
        const servers = agent.nodeServers()
        if (servers === undefined) return err(NO_NODE)
        const problem = await servers.set(addresses.value)
        return problem === undefined ? ok(EMPTY_RESPONSE) : err(refusal('invalid-input', problem))
      }),
    ),
    read(v1Routes.joinAgent, agentWrite, ({ query }) =>
      unwatchedRead(async () => {
        const addresses = parseAddresses(query.address)
        return addresses.ok ? ok(json(joinResult(agent.members(), addresses.value))) : addresses
      }),
    ),
    read(v1Routes.forceLeaveAgent, agentWrite, ({ query }) =>
      unwatchedRead(async () => {
        const name = query.node ?? ''
        if (name === '') return err(refusal('invalid-input', 'missing node to force leave'))
        const outcome = await agent.forceLeave(name, query.prune ?? false)
        if (outcome === 'done') return ok(EMPTY_RESPONSE)
        return err(outcome === 'unknown' ? unknownServer(name) : aliveRefusal(name))
      }),
    ),
  ]
}

const NO_NODE = refusal(
  'node-not-enabled',
  'this agent does not run a node: send the request to a client agent',
)

function aliveRefusal(name: string): Refusal {
  const text =
    `server ${JSON.stringify(name)} is alive: only failed servers can be forced to leave. ` +
    'Stop it, and it leaves the cluster.'
  return refusal('invalid-input', text)
}

function parseAddresses(values: readonly string[] | undefined): Result<readonly string[], Refusal> {
  const addresses = (values ?? []).filter((address) => address !== '')
  if (addresses.length === 0) return err(refusal('invalid-input', 'missing server address'))
  if (addresses.length <= ADDRESSES_MAX) return ok(addresses)
  return err(refusal('invalid-input', `at most ${ADDRESSES_MAX} addresses can be given`))
}

/**
 * Reports which addresses are members. Servers join through the shared database, so nothing is
 * changed.
 */
function joinResult(members: readonly AgentMember[], addresses: readonly string[]) {
  const memberNames = new Set(
    members
      .filter(({ Status }) => Status === 'alive')
      .flatMap(({ Addr, Port, Name }) => {
        const host = Addr.includes(':') ? `[${Addr}]` : Addr
        return [`${host}:${Port}`, Addr, Name]
      }),
  )
  const nonMembers = addresses.filter(
    (address) => !memberNames.has(address.replace(/^\w+:\/\//, '')),
  )
  const error = nonMembers.map((address) => `${address} ${NOT_A_MEMBER}`).join('; ')
  return { num_joined: addresses.length - nonMembers.length, error }
}

const NOT_A_MEMBER =
  'is no live member of this cluster: servers join it by starting with the same database ' +
  '(server.database)'
