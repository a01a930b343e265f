import type { Server } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { Server as SecureServer } from 'node:tls'
import type { Route } from '@reeve/contract'
import { v1Routes } from '@reeve/contract'
import type { FastifyInstance } from 'fastify'
import {
  findCaller,
  findTokenOwnerId,
  findEventStreamClient,
  ListWarmer,
  UNSUPPORTED_WEBHOOKS,
  createGovernanceContext,
  siteAdministratorCaller,
  type GovernanceContext,
  type WebhookSender,
} from '../governance/index.ts'
import { NO_ALIASES, type Aliases } from '../compat/index.ts'
import type { Clock, Random } from '@reeve/kit/clock.ts'
import { TenantSlots } from '@reeve/kit/tenant-slots.ts'
import type { Logger } from '@reeve/kit/log.ts'
import { LIMITS } from '../model/index.ts'
import { type EventBroker, NodeRpcClient, type NodeSessions } from '../sessions/index.ts'
import type { Authenticator, WorkloadContext } from '../workload/index.ts'
import { AuditLog, governanceActor, organizationOfRequest } from '../audit/index.ts'
import { trackRequests } from './transport/parked-connection.ts'
import { createChannels } from './channels.ts'
import { mountDiscovery, mountKeyDocuments } from './discovery.ts'
import { mountDocs } from './docs/mount-docs.ts'
import { GracefulShutdown } from './transport/shutdown.ts'
import { limitMetrics, metricSources } from './metrics/metric-sources.ts'
import { Metrics, type GaugeSources } from './metrics/metrics.ts'
import { CrossOriginGuard } from './transport/cross-origin.ts'
import { Admission } from './pipeline/admission.ts'
import { ParkedQueries } from './pipeline/blocking.ts'
import { NOT_STALE, type LeaderRouter } from './pipeline/leader-routing.ts'
import { RequestPipeline } from './pipeline/pipeline.ts'
import { RateLimit } from './pipeline/rate-limit.ts'
import type { RegionRouter } from './pipeline/region-routing.ts'
import { RequestTracing } from './pipeline/request-tracing.ts'
import { RequestRouting } from './pipeline/routing.ts'
import { type RoutedChannel, serveUpgrades } from './pipeline/upgrades.ts'
import {
  createHttpServer,
  defaultResponseHeaders,
  type HttpServerOptions,
  type ListenerTls,
  setHeaders,
} from './server.ts'
import { FastResponseWriter } from './transport/fast-response.ts'
import { limitConnections, openFilesUsage } from './transport/connections.ts'
import { RejectedConnectionLog } from './transport/rejected-connections.ts'
import { mountUi } from './ui/mount-ui.ts'
import type { AgentInfo } from './v1/agent.ts'
import type { Endpoint } from './v1/endpoint.ts'
import { mountEventStream } from './v1/event-stream.ts'
import { workloadEndpoints } from './v1/endpoints.ts'
import { mountV1 } from './v1/mount.ts'
import type { SnapshotRestorer } from './v1/operator.ts'
import { auditTrailEndpoints } from './v2/audit-trail.ts'
import { governanceEndpoints, runReadEndpoints } from './v2/endpoints.ts'
import { notificationConfigurationEndpoints } from './v2/notification-configurations.ts'
import { LargeBodyParser } from './v2/large-bodies.ts'
import { mountV2 } from './v2/api.ts'

export interface AppOptions {
  readonly context: WorkloadContext
  readonly authenticator: Authenticator
  readonly hub: EventBroker
  readonly sessions: NodeSessions
  readonly random: Random
  readonly agent: AgentInfo
  readonly log: Logger
  readonly version: string
  readonly corsOrigins: readonly string[]
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Restricts the server to documented members of the runtime's HTTP classes. */
  readonly usesPlainHttp: boolean
  readonly onCompleted?: HttpServerOptions['onCompleted']
  /** Requests per second of one user on `/api/v2`; unlimited unless given. */
  readonly requestsPerSecond?: number
  /** Limits per client; unlimited unless given. */
  readonly limits?: {
    readonly requestsPerSecond: number
    readonly anonymousRequestsPerSecond: number
    readonly blockingQueriesPerToken: number
    readonly eventStreamsPerToken: number
    readonly execSessionsPerToken: number
    readonly logStreamsPerToken: number
    readonly connectionsMax: number
  }
  /** Scheme and host of links on `/api/v2`; those of the request unless given. */
  readonly externalUrl?: string
  /** Heartbeat interval of nodes. */
  readonly heartbeatMs: () => number
  /** Called for every message of a node. */
  readonly onNodeSeen: (nodeId: string) => void
  /** Folder of the built web UI; without one a page reports that the UI is not installed. */
  readonly webFolder?: string
  /** Folder of the Markdown documentation. */
  readonly docsFolder?: string
  /** Routes requests to the leader, where several servers share one state. */
  readonly leader?: LeaderRouter
  /** Other regions, where any are configured. */
  readonly regions?: RegionRouter
  /** TLS settings, including the certificates required of nodes. */
  readonly security?: ListenerTls
  /** Restores snapshots while the server runs; rejected unless given. */
  readonly restoreSnapshot?: SnapshotRestorer
  /** Sends notifications of runs; none are sent unless given. */
  readonly webhooks?: WebhookSender
  /** Additional metrics. */
  readonly metrics?: GaugeSources
  /** Alternative names of headers and fields; none unless given. */
  readonly aliases?: Aliases
}

/** The HTTP server, with its routes mounted and not yet listening. */
export interface App {
  readonly app: FastifyInstance
  /** All routes, as the documentation lists them. */
  readonly routes: readonly Route[]
  /** Number of blocking queries that wait. */
  readonly parkedQueries: number
  isNodeConnected(nodeId: string): boolean
  /** Answers parked queries, ends streams, then waits a short time for running requests. */
  close(): Promise<void>
}

export function createApp(options: AppOptions): App {
  const { context, hub, sessions } = options
  const { clock } = context
  const lifecycle = new GracefulShutdown()
  const requests = createNodeRequests(options)
  const parked = createParkedQueries(options)
  const audit = new AuditLog({ ...context, log: options.log })
  const channels = createChannels({ ...options, requests, audit, clock })
  const governance = createGovernanceContext(context)
  const stages = createStages(options, createAdmission(options, governance))
  const { admission, pipeline, tracing } = stages
  const eventStreams = createEventStreamSlots(options)
  const logFollowers = new TenantSlots('server_log_followers_max', LIMITS.serverLogFollowersMax)
  const serverSlots = [parked.slots, eventStreams, logFollowers]
  const measured = { requests, parked, admission }
  const limits = limitMetrics(clock, async () => [
    ...admission.limitUsages,
    ...[...serverSlots, ...Object.values(requests.streamSlots)].map((slots) => slots.usage()),
    await connections(),
    ...(await openFilesUsage()),
  ])
  const metrics = new Metrics(clock, metricSources(options, measured), limits)
  const aliases = appAliases(options)
  const app = createHttpServer({
    ...options,
    pipeline,
    tracing,
    aliases: aliases.http,
    governanceHeaders: aliases.governance.responseHeaders,
    isUpgrade: (request) => channels.some(({ channel }) => channel.serves(request)),
    isDraining: () => lifecycle.isDraining,
    observerOf: (route) => metrics.observerOf(route),
  })
  const warmer = startWarmer(governance)
  const { log, limits: bounds } = options
  const connections = limitConnections(app.server, bounds?.connectionsMax, { log, clock })
  lifecycle.track(app.server)
  if (!options.usesPlainHttp) trackRequests(app.server)
  const turnedAway = createRejectedConnectionLog(app.server, options)
  const largeBodies = new LargeBodyParser(clock)
  const shared = { governance, parked, eventStreams, audit, lifecycle, warmer, largeBodies }
  const dependencies = { ...stages, ...shared }
  const workload = { ...options, aliases, requests, metrics, audit, lifecycle, logFollowers }
  const endpoints = workloadEndpoints(workload)
  const routes = mountRoutes(app, options, dependencies, endpoints)
  const { security } = options
  const stopReloading = reloadCertificates(app.server, security)
  serveUpgrades(app.server, {
    ...stages,
    channels,
    security,
    rejectedConnections: turnedAway,
    aliases: aliases.http,
  })
  return {
    app,
    routes,
    get parkedQueries() {
      return parked.count
    },
    isNodeConnected: (nodeId) => sessions.isConnected(nodeId),
    close: async () => {
      stopReloading()
      await close({ app, clock, lifecycle, hub, sessions, requests, channels, audit, warmer })
      await Promise.all([largeBodies.stop(), governance.states.stop()])
    },
  }
}

function createNodeRequests({ context, sessions, limits }: AppOptions): NodeRpcClient {
  const streamLimits = context.aclEnabled ? (limits ?? STREAM_LIMITS) : undefined
  return new NodeRpcClient({ ...context, sessions, streamLimits })
}

/** Creates the stages that every request passes before its handler. */
function createStages(options: AppOptions, admission: Admission) {
  const { context, leader, regions, corsOrigins, responseHeaders } = options
  const aliases = appAliases(options)
  const headers = { responseHeaders, governanceHeaders: aliases.governance.responseHeaders }
  const pageGuard = createCrossOriginGuard(options)
  const routing = new RequestRouting({ region: context.region, leader, regions })
  const pipeline = new RequestPipeline({
    admission,
    routing,
    corsOrigins,
    aliases: aliases.http,
    pageGuard,
    setHeaders: (request, reply) => setHeaders(headers, request, reply),
  })
  const { tracer } = context
  const tracing = tracer === undefined ? undefined : new RequestTracing(tracer)
  return { admission, routing, pipeline, crossOriginGuard: pageGuard, tracing }
}

function appAliases({ aliases = NO_ALIASES }: AppOptions): Aliases {
  return aliases
}

function createFastResponseWriter(
  options: AppOptions,
  lifecycle: GracefulShutdown,
): FastResponseWriter {
  return new FastResponseWriter({
    headers: defaultResponseHeaders(options),
    aliases: appAliases(options).http.responseHeaders,
    isEnabled: !options.usesPlainHttp,
    isDraining: () => lifecycle.isDraining,
    isStillLeader: (request) => options.leader?.isStillLeader(request) ?? true,
  })
}

/**
 * Creates the page guard. A server with ACLs needs none: it requires a token, which no browser
 * sends by itself.
 */
function createCrossOriginGuard({
  context,
  corsOrigins,
  externalUrl = '',
}: AppOptions): CrossOriginGuard | undefined {
  return context.aclEnabled ? undefined : new CrossOriginGuard({ corsOrigins, externalUrl })
}

function startWarmer({ lists }: GovernanceContext): ListWarmer {
  const warmer = new ListWarmer(Object.values(lists))
  void warmer.warm()
  return warmer
}

function createRejectedConnectionLog(
  server: Server,
  { log, context: { clock } }: AppOptions,
): RejectedConnectionLog {
  const turnedAway = new RejectedConnectionLog({ log, clock })
  turnedAway.logTlsErrors(server)
  return turnedAway
}

/** Reloads certificates for new connections; open connections keep theirs. */
function reloadCertificates(server: Server, security: ListenerTls | undefined): () => void {
  if (security === undefined || !(server instanceof SecureServer)) return () => undefined
  return security.onReload(() => server.setSecureContext(security.secureContextOptions()))
}

/** Dependencies of the routes of both APIs. */
interface RouteDependencies {
  readonly governance: GovernanceContext
  readonly admission: Admission
  readonly pipeline: RequestPipeline
  readonly routing: RequestRouting
  readonly tracing: RequestTracing | undefined
  readonly parked: ParkedQueries
  readonly eventStreams: TenantSlots
  readonly audit: AuditLog
  readonly lifecycle: GracefulShutdown
  readonly warmer: ListWarmer
  readonly largeBodies: LargeBodyParser
}

/** Mounts everything that the server answers; returns the routes of both APIs. */
function mountRoutes(
  app: FastifyInstance,
  options: AppOptions,
  dependencies: RouteDependencies,
  endpoints: readonly Endpoint[],
): readonly Route[] {
  mountWorkload(app, options, dependencies, endpoints)
  const routes = [
    ...endpoints.map((endpoint) => endpoint.route),
    v1Routes.streamEvents,
    ...mountGovernance(app, options, dependencies),
  ]
  mountKeyDocuments(app)
  mountDiscovery(app, appAliases(options).governance)
  mountDocs(app, { routes, version: options.version, folder: options.docsFolder })
  mountUi(app, options.webFolder)
  return routes
}

function mountWorkload(
  app: FastifyInstance,
  options: AppOptions,
  parts: RouteDependencies,
  endpoints: readonly Endpoint[],
): void {
  const { governance, admission, pipeline, routing, tracing } = parts
  const { parked, eventStreams, audit, lifecycle } = parts
  const { context, authenticator, hub, leader, regions } = options
  const { store, clock } = context
  mountV1(
    app,
    {
      store,
      parkedQueries: parked,
      authenticate: (secret) => authenticator.authenticate(secret),
      lifecycle,
      admission,
      capacity: context.capacity,
      audit,
      staleness: () => leader?.staleness() ?? NOT_STALE,
      pipeline,
      routing,
      tracing,
      fastWriter: createFastResponseWriter(options, lifecycle),
      aliases: appAliases(options).http,
      ...(regions !== undefined && { regions }),
    },
    endpoints,
  )
  const streams = {
    context,
    authenticator,
    broker: hub,
    slots: eventStreams,
    findOrganization: (secret: string) => findEventStreamClient(governance, secret),
  }
  mountEventStream(app, { streams, pipeline, clock, scheduler: admission.scheduler })
}

function mountGovernance(
  app: FastifyInstance,
  options: AppOptions,
  parts: RouteDependencies,
): readonly Route[] {
  const { governance, admission, pipeline, routing, parked, audit, lifecycle, warmer } = parts
  const endpoints = [
    ...governanceEndpoints(governance),
    ...auditTrailEndpoints({ context: governance, audit }),
    ...runReadEndpoints({
      context: governance,
      lifecycle,
      parked,
      structuredLogHeader: appAliases(options).governance.structuredLogHeader,
    }),
    ...notificationConfigurationEndpoints({
      context: governance,
      notifier: {
        context: governance,
        webhooks: options.webhooks ?? UNSUPPORTED_WEBHOOKS,
        address: () => options.externalUrl ?? '',
      },
    }),
  ]
  const { store } = governance
  mountV2(
    app,
    {
      store,
      authenticate: (secret) =>
        findAdministrator(options, secret) ?? findCaller(governance, secret),
      aliases: appAliases(options).governance,
      rateLimit: rateLimitOf(options),
      admission,
      capacity: options.context.capacity,
      pipeline,
      routing,
      audit,
      actorOf: (caller) => governanceActor(governance, caller),
      organizationOf: (caller, params) => organizationOfRequest(governance, caller, params),
      warmLists: () => warmer.warm(),
      externalUrl: options.externalUrl ?? '',
      largeBodies: parts.largeBodies,
    },
    endpoints,
  )
  return endpoints.map((endpoint) => endpoint.route)
}

function createParkedQueries({ context, random, limits }: AppOptions): ParkedQueries {
  const { store, clock, aclEnabled } = context
  // Without ACLs there are no tokens that identify clients.
  const perTenantMax = aclEnabled ? limits?.blockingQueriesPerToken : undefined
  return new ParkedQueries({ store, clock, random, perTenantMax })
}

/** Stream limits of a server without configured limits: the defaults of the settings. */
const STREAM_LIMITS = {
  eventStreamsPerToken: LIMITS.eventStreamsPerToken,
  execSessionsPerToken: LIMITS.execSessionsPerToken,
  logStreamsPerToken: LIMITS.logStreamsPerToken,
}

function createEventStreamSlots({ context, limits }: AppOptions): TenantSlots {
  const { eventStreamsPerToken } = limits ?? STREAM_LIMITS
  const perTokenMax = context.aclEnabled ? eventStreamsPerToken : undefined
  return new TenantSlots('event_streams_per_token', perTokenMax)
}

function createAdmission(options: AppOptions, governance: GovernanceContext): Admission {
  const { context, authenticator, limits } = options
  return new Admission({
    clock: context.clock,
    findOwner: (secret) =>
      authenticator.findToken(secret)?.AccessorID ?? findTokenOwnerId(governance, secret),
    // Without ACLs clients cannot be distinguished, so none of them is limited.
    requestsPerSecond: context.aclEnabled ? (limits?.requestsPerSecond ?? 0) : 0,
    anonymousRequestsPerSecond: context.aclEnabled ? (limits?.anonymousRequestsPerSecond ?? 0) : 0,
    forwardedAddressOf: (request) => options.leader?.clientAddressOf(request),
    headers: defaultResponseHeaders(options),
  })
}

function rateLimitOf({ requestsPerSecond = 0, context }: AppOptions): RateLimit | undefined {
  return requestsPerSecond === 0 ? undefined : new RateLimit(context.clock, requestsPerSecond)
}

/**
 * Returns the identity of a management token of `/v1`, which is the site administrator of
 * `/api/v2`.
 */
function findAdministrator({ authenticator, context }: AppOptions, secret: string) {
  const token = authenticator.findToken(secret)
  if (token === undefined || token.Type !== 'management') return undefined
  const expired =
    token.ExpirationTime !== null && Date.parse(token.ExpirationTime) <= context.clock.nowMs()
  return expired ? undefined : siteAdministratorCaller(token.AccessorID)
}

interface CloseOptions {
  readonly app: FastifyInstance
  readonly clock: Clock
  readonly lifecycle: GracefulShutdown
  readonly hub: EventBroker
  readonly sessions: NodeSessions
  readonly requests: NodeRpcClient
  readonly channels: readonly RoutedChannel[]
  readonly audit: AuditLog
  readonly warmer: ListWarmer
}

async function close({
  app,
  clock,
  lifecycle,
  hub,
  sessions,
  requests,
  channels,
  audit,
  warmer,
}: CloseOptions): Promise<void> {
  lifecycle.drain()
  warmer.stop()
  hub.close()
  // Close the channels of clients before the requests and sessions that they are connected to.
  for (const { channel } of channels) channel.close()
  requests.close()
  sessions.close()
  // Parked queries are parsed again in this tick; until then the runtime sees their connections as
  // idle and would close them.
  await setImmediate()
  await lifecycle.close(app, clock)
  audit.flush()
}
