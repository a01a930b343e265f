import type { Route } from '@reeve/contract'
import { v1Routes } from '@reeve/contract'
import type { FastifyInstance } from 'fastify'
import { findCaller, openGovernance, siteCaller } from '../governance/index.ts'
import type { Random } from '../kit/clock.ts'
import {
  NodeRequests,
  type Authenticator,
  type EventHub,
  type NodeSessions,
  type WorkloadContext,
} from '../workload/index.ts'
import { NodeChannelServer } from './agent/node-channel.ts'
import { StreamChannelServer } from './agent/stream-channel.ts'
import { parkedQueries } from './blocking.ts'
import { followConnections } from './connection.ts'
import { openApiDocument } from './docs/openapi.ts'
import { docsPage } from './docs/page.ts'
import { Lifecycle } from './lifecycle.ts'
import { Metrics, type MetricSources } from './metrics/metrics.ts'
import { createShell, type HttpLog } from './server.ts'
import { aclEndpoints } from './v1/acl.ts'
import { agentEndpoints, type AgentInfo } from './v1/agent.ts'
import { allocationWriteEndpoints } from './v1/allocation-writes.ts'
import { allocationEndpoints } from './v1/allocations.ts'
import { clientAllocationEndpoints } from './v1/client-allocations.ts'
import { clientFileEndpoints } from './v1/client-files.ts'
import { clientNodeEndpoints } from './v1/client-nodes.ts'
import { deploymentEndpoints } from './v1/deployments.ts'
import type { Endpoint } from './v1/endpoint.ts'
import { evaluationEndpoints } from './v1/evaluations.ts'
import { ExecChannelServer } from './v1/exec-channel.ts'
import { execEndpoints } from './v1/exec.ts'
import { mountEventStream } from './v1/event-stream.ts'
import { explainEndpoints } from './v1/explain.ts'
import { jobActionEndpoints } from './v1/job-actions.ts'
import { jobFileEndpoints } from './v1/job-files.ts'
import { jobLogEndpoints } from './v1/client-job-logs.ts'
import { jobLaunchEndpoints } from './v1/job-launches.ts'
import { jobPlanEndpoints } from './v1/job-plan.ts'
import { jobStatusEndpoints } from './v1/job-statuses.ts'
import { jobVersionEndpoints } from './v1/job-versions.ts'
import { jobEndpoints } from './v1/jobs.ts'
import { mountV1 } from './v1/mount.ts'
import { namespaceEndpoints } from './v1/namespaces.ts'
import { nodePoolEndpoints } from './v1/node-pools.ts'
import { nodeEndpoints } from './v1/nodes.ts'
import { operatorEndpoints } from './v1/operator.ts'
import { searchEndpoints } from './v1/search.ts'
import { serviceEndpoints } from './v1/services.ts'
import { systemEndpoints } from './v1/system.ts'
import { scalingEndpoints } from './v1/scaling.ts'
import { variableEndpoints } from './v1/variables.ts'
import { governanceEndpoints } from './v2/endpoints.ts'
import { mountV2 } from './v2/mount.ts'

export interface AppOptions {
  readonly context: WorkloadContext
  readonly authenticator: Authenticator
  readonly hub: EventHub
  readonly sessions: NodeSessions
  readonly random: Random
  readonly agent: AgentInfo
  readonly log: HttpLog
  readonly version: string
  readonly corsOrigins: readonly string[]
  readonly responseHeaders: Readonly<Record<string, string>>
  /** How long a node may wait before it speaks again. */
  readonly heartbeatMs: () => number
  /** A node said something. */
  readonly seen: (nodeId: string) => void
}

/** The HTTP side of a server, mounted and not yet listening. */
export interface App {
  readonly app: FastifyInstance
  /** The routes that exist, as the documentation lists them. */
  readonly routes: readonly Route[]
  isNodeConnected(nodeId: string): boolean
  /** Answers parked queries, ends streams, then waits for running requests. */
  close(): Promise<void>
}

export function createApp(options: AppOptions): App {
  const { context, hub, sessions } = options
  const lifecycle = new Lifecycle()
  const requests = new NodeRequests({ ...context, sessions })
  const metrics = new Metrics(context.clock, metricSources(options, requests))
  const nodeHost = { ...options, requests, clock: context.clock }
  const channels = [
    new ExecChannelServer(nodeHost),
    new NodeChannelServer(nodeHost),
    new StreamChannelServer(nodeHost),
  ]
  const app = createShell({
    ...options,
    upgrades: (request) => channels.some((channel) => channel.serves(request)),
    isDraining: () => lifecycle.isDraining,
    observe: (request, reply) => metrics.observe(request, reply),
  })
  lifecycle.follow(app.server)
  followConnections(app.server)
  const endpoints: readonly Endpoint[] = [
    ...jobEndpoints(context),
    ...jobVersionEndpoints(context),
    ...jobLaunchEndpoints(context),
    ...jobPlanEndpoints(context),
    ...jobStatusEndpoints(context),
    ...jobActionEndpoints(context),
    ...explainEndpoints(context),
    ...jobFileEndpoints(context),
    ...scalingEndpoints(context),
    ...allocationEndpoints(context),
    ...allocationWriteEndpoints(context),
    ...clientAllocationEndpoints({ context, gateway: requests }),
    ...clientFileEndpoints({ context, gateway: requests }),
    ...clientNodeEndpoints({ context, gateway: requests }, options.agent),
    ...jobLogEndpoints({ context, gateway: requests }),
    ...execEndpoints(),
    ...evaluationEndpoints(context),
    ...deploymentEndpoints(context),
    ...nodeEndpoints(context),
    ...aclEndpoints(context),
    ...namespaceEndpoints(context),
    ...nodePoolEndpoints(context),
    ...operatorEndpoints(context),
    ...searchEndpoints(context),
    ...serviceEndpoints(context),
    ...variableEndpoints(context),
    ...systemEndpoints(context),
    ...agentEndpoints(options.agent, metrics),
  ]
  mountV1(
    app,
    {
      store: context.store,
      clock: context.clock,
      random: options.random,
      region: context.region,
      authenticate: (secret) => options.authenticator.authenticate(secret),
      lifecycle,
    },
    endpoints,
  )
  const streams = { context, authenticator: options.authenticator, hub, openByAccessor: new Map() }
  mountEventStream(app, { streams, region: context.region, clock: context.clock })
  const governanceRoutes = mountGovernance(app, options)
  const routes = [
    ...endpoints.map((endpoint) => endpoint.route),
    v1Routes.streamEvents,
    ...governanceRoutes,
  ]
  mountDocs(app, routes, options.version)
  app.server.on('upgrade', (request, socket, head) =>
    channels.find((one) => one.serves(request))?.handleUpgrade(request, socket, head),
  )
  return {
    app,
    routes,
    isNodeConnected: (nodeId) => sessions.isConnected(nodeId),
    close: () => close({ app, lifecycle, hub, sessions, requests, channels }),
  }
}

function mountGovernance(app: FastifyInstance, options: AppOptions): readonly Route[] {
  const governance = openGovernance(options.context)
  const endpoints = governanceEndpoints(governance)
  const { store } = governance
  mountV2(
    app,
    {
      store,
      authenticate: (secret) =>
        findAdministrator(options, secret) ?? findCaller(governance, secret),
    },
    endpoints,
  )
  return endpoints.map((endpoint) => endpoint.route)
}

/** Architecture §9: the management token of `/v1` is the site administrator of `/api/v2`. */
function findAdministrator({ authenticator, context }: AppOptions, secret: string) {
  const token = authenticator.findToken(secret)
  if (token === undefined || token.Type !== 'management') return undefined
  const expired =
    token.ExpirationTime !== null && Date.parse(token.ExpirationTime) <= context.clock.nowMs()
  return expired ? undefined : siteCaller(token.AccessorID)
}

function mountDocs(app: FastifyInstance, routes: readonly Route[], version: string): void {
  // Made when first asked for: a server starts without it.
  let document: string | undefined
  let page: string | undefined
  app.get('/openapi.json', (_request, reply) => {
    document ??= JSON.stringify(openApiDocument(routes, version))
    return reply.type('application/json').send(document)
  })
  app.get('/docs', (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
      .send((page ??= docsPage(routes, version))),
  )
  app.get('/', (_request, reply) => reply.redirect('/docs', 307))
}

function metricSources(
  { context, hub, sessions }: AppOptions,
  requests: NodeRequests,
): MetricSources {
  const { store } = context
  return {
    state_index: { help: 'Index of the last applied commit.', read: () => store.index },
    state_durable_index: {
      help: 'Index of the last durable commit.',
      read: () => store.durableIndex,
    },
    state_dirty_rows: {
      help: 'Rows written since the last checkpoint.',
      read: () => store.dirtyRows,
    },
    jobs: { help: 'Jobs of all namespaces.', read: () => store.tables.jobs.size },
    allocations: { help: 'Allocations of all states.', read: () => store.tables.allocations.size },
    evaluations_pending: {
      help: 'Evaluations that wait for the scheduler.',
      read: () => store.tables.evaluations.countIn('status', 'pending'),
    },
    evaluations_blocked: {
      help: 'Evaluations that wait for resources.',
      read: () => store.tables.evaluations.countIn('status', 'blocked'),
    },
    nodes: { help: 'Nodes that are known.', read: () => store.tables.nodes.size },
    nodes_connected: {
      help: 'Nodes that are connected to this server.',
      read: () => sessions.size,
    },
    blocking_queries: { help: 'Blocking queries that wait.', read: parkedQueries },
    event_streams: { help: 'Event streams that are open.', read: () => hub.readers },
    node_streams: {
      help: 'Exec, log and file streams that are open to nodes.',
      read: () => requests.openStreams,
    },
  }
}

interface Closing {
  readonly app: FastifyInstance
  readonly lifecycle: Lifecycle
  readonly hub: EventHub
  readonly sessions: NodeSessions
  readonly requests: NodeRequests
  readonly channels: readonly { close(): void }[]
}

async function close({
  app,
  lifecycle,
  hub,
  sessions,
  requests,
  channels,
}: Closing): Promise<void> {
  lifecycle.drain()
  hub.close()
  // Callers are told before what they are joined to goes.
  for (const channel of channels) channel.close()
  requests.close()
  sessions.close()
  await app.close()
}
