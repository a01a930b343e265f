import { v1Routes, type AgentHealth, type AgentMember, type HostData } from '@reeve/contract'
import type { LogFeed } from '@reeve/kit/log-feed.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { SliceOptions } from '@reeve/kit/slices.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import { json, TEXT_TYPE, type Answer } from '../answer.ts'
import { slicesOf } from '../slices.ts'
import type { WorkloadContext } from '../../workload/index.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { read, type Endpoint, type ReadPlan } from './endpoint.ts'
import { membersElsewhere } from './members-elsewhere.ts'
import { agentRead, anyone, nodeRead } from './requirements.ts'

/** What the agent knows about itself; given by the composition root. */
export interface AgentInfo {
  readonly region: string
  readonly datacenter: string
  /** Every region that is known; the own one alone unless given. */
  readonly regions?: () => readonly string[]
  /** `host:port` of the leader; empty when there is none. */
  readonly leader: () => string
  readonly peers: () => readonly string[]
  /** This agent. */
  readonly member: () => AgentMember
  /** Every server of its cluster, this one among them, as far as it knows. */
  readonly members: () => readonly AgentMember[]
  /** The configuration in force, secrets redacted. */
  readonly config: () => object
  readonly stats: () => Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly health: () => AgentHealth
  /** The node in this process, if there is one. */
  readonly nodeId?: () => string | undefined
  /** The log of this process. */
  readonly feed: LogFeed
  /** The machine of this process. */
  readonly host: () => Promise<HostData>
  /** The servers that the node in this process connects to; undefined without a node. */
  readonly nodeServers: () => NodeServers | undefined
  /** Marks a server that has failed as left, or removes it from the list of members. */
  readonly forceLeave: (name: string, prune: boolean) => Promise<ForceLeaveOutcome>
  /** Acknowledged commits that this process has found missing from the database of its cluster. */
  readonly commitsLost?: () => number
  /**
   * Makes a cluster go on that has lost commits; `by` is who decided it. Gives what was lost.
   * Undefined where no database is shared.
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

/** Commits that were lost, from one index to another, both included. */
export interface AcceptedLoss {
  readonly fromIndex: number
  readonly toIndex: number
}

/** What an agent measures. */
export interface AgentMetrics {
  /** About the program: anybody may read it. */
  readonly program: Metrics
  /** What holds names of jobs and nodes, as far as the caller with this secret may see them. */
  readonly namedText: (secret: string | undefined, slices: SliceOptions) => Promise<string>
}

/** Health, self, members, status, regions, metrics. */
export function agentEndpoints(
  context: WorkloadContext,
  agent: AgentInfo,
  metrics: AgentMetrics,
): readonly Endpoint[] {
  return [
    ...openEndpoints(agent, metrics),
    read(v1Routes.readAgentSelf, agentRead, () =>
      now(() => json({ config: agent.config(), stats: agent.stats(), member: agent.member() })),
    ),
    read(v1Routes.listAgentMembers, nodeRead, ({ secret, isPart }) =>
      now(async () => {
        // One region that asks another wants its part: the other need not ask it back.
        const elsewhere = isPart ? [] : await membersElsewhere(context, secret)
        return json({
          ServerName: agent.member().Name,
          ServerRegion: agent.region,
          ServerDC: agent.datacenter,
          Members: [...agent.members(), ...elsewhere],
        })
      }),
    ),
  ]
}

/** They need nothing, so whoever comes with a token that has ended may ask too. */
function openEndpoints(agent: AgentInfo, metrics: AgentMetrics): readonly Endpoint[] {
  const endpoints = [
    read(v1Routes.readAgentHealth, anyone, ({ query }) => {
      const types = (query.type ?? []).filter((type) => type !== '')
      return types.every(isHealthPart) ? now(() => health(agent, types)) : err(NO_HEALTH_PART)
    }),
    read(v1Routes.readLeader, anyone, () => now(() => json(agent.leader()))),
    read(v1Routes.listPeers, anyone, () => now(() => json(agent.peers()))),
    read(v1Routes.listRegions, anyone, () => now(() => json(agent.regions?.() ?? [agent.region]))),
    read(v1Routes.readMetrics, anyone, ({ query, secret, yieldTurn }) =>
      now(async () => {
        if (query.format !== 'prometheus') return json(await metrics.program.report())
        const { text, contentType } = await metrics.program.text()
        const named = await metrics.namedText(secret, slicesOf(yieldTurn))
        return { body: { kind: 'text', text: `${text}${named}`, contentType } }
      }),
    ),
  ]
  return endpoints.map((endpoint) => ({ ...endpoint, token: 'ignored' }))
}

/** About the agent itself, not about state: no index to wait for. */
function now(answer: () => Answer | Promise<Answer>): Result<ReadPlan, never> {
  const plan: ReadPlan = { index: () => 0, watch: [], answer: async () => ok(await answer()) }
  return ok(plan)
}

const HEALTH_PARTS = ['client', 'server'] as const
type HealthPart = (typeof HEALTH_PARTS)[number]

// A misspelt one would name nothing, and nothing is always well.
const NO_HEALTH_PART: Refusal = refusal(
  'invalid-input',
  `type must be ${HEALTH_PARTS.join(' or ')}`,
)

function isHealthPart(text: string): text is HealthPart {
  return HEALTH_PARTS.some((part) => part === text)
}

/** The parts asked for; 500 when one of them is not well. */
function health(agent: AgentInfo, types: readonly HealthPart[]): Answer {
  const all = agent.health()
  const wants = (part: HealthPart): boolean => types.length === 0 || types.includes(part)
  const body: Record<string, { ok: boolean; message: string }> = {}
  for (const part of HEALTH_PARTS) {
    if (!wants(part)) continue
    const found = all[part]
    if (found !== undefined) body[part] = found
    else if (types.includes(part)) body[part] = { ok: false, message: `${part} not enabled` }
  }
  if (Object.values(body).every((part) => part.ok)) return json(body)
  // JSON, but under the type of every refusal.
  const text = JSON.stringify(body)
  return { status: 500, body: { kind: 'text', text, contentType: TEXT_TYPE } }
}
