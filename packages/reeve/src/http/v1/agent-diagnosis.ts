import { Readable, Transform, pipeline } from 'node:stream'
import {
  FOLLOWED_LEVELS,
  HostData,
  v1Routes,
  type FollowedLevel,
  type StreamFrame,
} from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { LogBacklog, type LogFeed, type LogSelection } from '@reeve/kit/log-feed.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { TenantSlots } from '@reeve/kit/tenant-slots.ts'
import { checkUuid, LIMITS, refusal, type Refusal } from '../../model/index.ts'
import { unknownNode } from '../../workload/index.ts'
import { json, TEXT_TYPE, type Answer } from '../answer.ts'
import type { Lifecycle } from '../lifecycle.ts'
import type { AgentInfo } from './agent.ts'
import type { StreamingHost } from './client-allocations.ts'
import { read, type Endpoint, type RequestOf } from './endpoint.ts'
import { asked, nodeAnswer } from './node-answer.ts'
import { nodeBytes } from './node-bytes.ts'
import { agentRead } from './requirements.ts'
import { whileAllowed } from './stream-rights.ts'

const askHostData = nodeAnswer(HostData)

interface DiagnosisHost extends StreamingHost {
  /** Streams end when the server stops. */
  readonly lifecycle: Pick<Lifecycle, 'hold' | 'release'>
}

/** The log of an agent, and its machine: of this server, or of a node. */
export function agentDiagnosisEndpoints(
  host: DiagnosisHost,
  agent: AgentInfo,
): readonly Endpoint[] {
  const slots = new TenantSlots('log followers', LIMITS.serverLogFollowersMax)
  return [
    read(v1Routes.monitorAgent, agentRead, (request) =>
      asked(() => monitor(host, { agent, slots }, request)),
    ),
    read(v1Routes.readAgentHost, agentRead, ({ query }) =>
      asked(async () => {
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

/** The node that is named; undefined for this server. Requests for others do not come here. */
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
  const isOwn = server === '' || server === 'leader' || agent.isNamed(server)
  return isOwn ? ok(undefined) : err(unknownServer(server))
}

export function unknownServer(name: string): Refusal {
  const text = `server ${JSON.stringify(name)} is unknown or does not answer`
  return refusal('server-not-found', text)
}

interface Monitored {
  readonly agent: AgentInfo
  readonly slots: TenantSlots
}

async function monitor(
  host: DiagnosisHost,
  { agent, slots }: Monitored,
  { caller, secret, query }: RequestOf<typeof v1Routes.monitorAgent>,
): Promise<Result<Answer, Refusal>> {
  const level = levelOf(query.log_level ?? '')
  if (level === undefined) return err(unknownLevel(query.log_level ?? ''))
  const nodeId = findNode(host, agent, query)
  if (!nodeId.ok) return nodeId
  const { context, authenticator, gateway } = host
  const selection = { level, json: query.log_json ?? false }
  const { accessorId } = caller
  const lines =
    nodeId.value === undefined
      ? followOwn(agent.feed, selection, { slots, accessorId, lifecycle: host.lifecycle })
      : await followNode(gateway, nodeId.value, { selection, accessorId })
  if (!lines.ok) return lines
  const allowed = whileAllowed(lines.value, {
    context,
    authenticator,
    secret,
    allows: (grants) => grants.agent('read'),
  })
  const isPlain = query.plain ?? false
  const stream = isPlain ? allowed : framed(allowed, context.clock)
  const contentType = isPlain ? TEXT_TYPE : 'application/json'
  return ok({ body: { kind: 'stream', stream, contentType } })
}

/** `trace` is accepted because other clients send it; nothing here is logged below `debug`. */
function levelOf(text: string): FollowedLevel | undefined {
  const name = text.toLowerCase() || 'info'
  return name === 'trace' ? 'debug' : FOLLOWED_LEVELS.find((level) => level === name)
}

function unknownLevel(text: string): Refusal {
  const levels = FOLLOWED_LEVELS.join(', ')
  return refusal('invalid-input', `Unknown log level: ${text}; use one of ${levels}`)
}

interface Follower {
  readonly slots: TenantSlots
  readonly accessorId: string
  readonly lifecycle: DiagnosisHost['lifecycle']
}

/** Callers without a token share one name, and thereby one allowance. */
function followOwn(
  feed: LogFeed,
  selection: LogSelection,
  { slots, accessorId, lifecycle }: Follower,
): Result<Readable, Refusal> {
  if (slots.isFull(accessorId)) {
    const text = `${slots.perTenantMax} readers of this token follow the log; close one first`
    return err(refusal('too-many-streams', text))
  }
  slots.acquire(accessorId)
  const backlog = new LogBacklog(feed, selection)
  const hold = lifecycle.hold()
  hold.onOver(() => backlog.close())
  const push = (text: string | undefined): void => {
    if (!lines.destroyed) lines.push(text ?? null)
  }
  const lines = new Readable({
    read: () => void backlog.take().then(push),
    destroy: (error, done) => {
      backlog.close()
      lifecycle.release(hold)
      slots.release(accessorId)
      done(error)
    },
  })
  return ok(lines)
}

async function followNode(
  gateway: StreamingHost['gateway'],
  nodeId: string,
  { selection, accessorId }: { readonly selection: LogSelection; readonly accessorId: string },
): Promise<Result<Readable, Refusal>> {
  const request = { verb: 'monitor', ...selection } as const
  const stream = await gateway.open(nodeId, { request, accessorId })
  return stream.ok ? ok(nodeBytes(stream.value)) : stream
}

const HEARTBEAT_MS = 1_000

/** Each piece of the log in a frame, and empty frames while nothing is logged. */
function framed(lines: Readable, clock: Clock): Readable {
  let cancel: () => void = () => undefined
  const frames = new Transform({
    transform(data: Buffer, _encoding, done) {
      const frame: StreamFrame = { Data: data.toString('base64') }
      done(null, JSON.stringify(frame))
    },
  })
  const beat = (): void => {
    // A reader that lags has frames to read.
    if (frames.readableLength === 0) frames.push('{}')
    cancel = clock.after(HEARTBEAT_MS, beat)
  }
  cancel = clock.after(HEARTBEAT_MS, beat)
  pipeline(lines, frames, () => cancel())
  return frames
}
