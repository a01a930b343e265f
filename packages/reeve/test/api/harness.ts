import assert from 'node:assert/strict'
import type { Server } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import {
  HEADERS,
  METHOD_NOT_ALLOWED,
  v1Routes,
  type AgentMember,
  type RouteResponse,
  type HostData,
  type Route,
  type Infer,
  type V1RouteId,
  type V1Routes,
} from '@reeve/contract'
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { EvaluationBroker, StateView } from '../../src/control/index.ts'
import type { WebhookSender } from '../../src/governance/index.ts'
import {
  createApp,
  type App,
  type AppOptions,
  type AgentInfo,
  type ListenerTls,
  type LeaderRouter,
  type RegionRouter,
} from '../../src/http/index.ts'
import { aliasesOf } from '../../src/compat/index.ts'
import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import { StateCapacity } from '@reeve/kit/memory-pressure.ts'
import { WorkerEngine } from '../../src/judging/index.ts'
import { createPolicySource } from '../../src/main/policy-source.ts'
import { createSealer } from '../../src/main/secrets.ts'
import { createTimeZoneOffset } from '@reeve/kit/time-zone.ts'
import type { PolicyEngine } from '../../src/policy/index.ts'
import { Store } from '../../src/state/index.ts'
import { MemoryDisk, openMemoryEngine, type MemoryEngine } from '../../src/storage/index.ts'
import {
  Authenticator,
  createPlanGate,
  ensureBuiltIns,
  JobFileReader,
  JobPolicyEvaluator,
  type NodeAdmission,
  type RemoteRegions,
  type WorkloadContext,
} from '../../src/workload/index.ts'
import { EventBroker, NodeSessions } from '../../src/sessions/index.ts'
import { SILENT_LOG } from '../build/agent.ts'
import { schemaErrors } from '../build/schema-errors.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'

export interface CallOptions {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[]>>
  /** Sent as JSON; a string and bytes are sent as they are. */
  readonly body?: unknown
  /** The secret in the token header. */
  readonly token?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** The route's first method unless given. */
  readonly method?: string
}

export interface Reply {
  readonly status: number
  readonly text: string
  readonly bytes: Buffer
  /** The JSON of the body; undefined when it is no JSON, or compressed. */
  readonly body: unknown
  readonly headers: Readonly<Record<string, unknown>>
  /** `X-Service-Index`; 0 when it is not there. */
  readonly index: number
  readonly nextToken: string | undefined
}

/** Blocking queries that wait on the servers of this process. */
export function parkedQueries(): number {
  let count = 0
  for (const app of apps) count += app.deref()?.parkedQueries ?? 0
  return count
}

/** Many tests leave their server to the garbage collector. */
const apps = new Set<WeakRef<App>>()

/** Waits until a blocking query that was just sent is parked. */
export async function untilParked(): Promise<void> {
  while (parkedQueries() === 0) await setImmediate()
}

/** What a route answers with 200. */
type BodyOf<I extends V1RouteId> = V1Routes[I]['answers'] extends {
  readonly 200: { readonly schema: infer S extends TSchema }
}
  ? Infer<S>
  : undefined

/** Limits that no test reaches by accident; rates are off. */
export const LOOSE_LIMITS: NonNullable<AppOptions['limits']> = {
  requestsPerSecond: 0,
  anonymousRequestsPerSecond: 0,
  blockingQueriesPerToken: 10_000,
  eventStreamsPerToken: 10_000,
  execSessionsPerToken: 10_000,
  logStreamsPerToken: 10_000,
  connectionsMax: 10_000,
}

interface TestServerOptions {
  /** On unless said otherwise. */
  readonly aclEnabled?: boolean
  /** What an earlier server left. */
  readonly disk?: MemoryDisk
  /** `global` unless given. */
  readonly region?: string
  readonly corsOrigins?: readonly string[]
  readonly responseHeaders?: Readonly<Record<string, string>>
  /** On `/api/v2`; any number unless given. */
  readonly requestsPerSecond?: number
  /** What one client may take of the server; as much as it likes unless given. */
  readonly limits?: AppOptions['limits']
  /** Where links of `/api/v2` begin; as the request says unless given. */
  readonly externalUrl?: string
  /** Asks policies; the thread of all tests unless given. */
  readonly policyAsker?: PolicyEngine
  /** Sends notifications; none are sent unless given. */
  readonly webhooks?: WebhookSender
  /** Reads job files; the thread of all tests unless given. */
  readonly jobFiles?: JobFileReader
  /** What the agent says about itself, where it is not `AGENT`. */
  readonly agent?: Partial<AgentInfo>
  /** Servers that meet each other must not make the same ids. */
  readonly idSeed?: number
  /** Other regions; none unless given. */
  readonly regions?: RegionRouter
  /** Knows the leader; the server is alone unless given. */
  readonly leader?: LeaderRouter
  readonly otherRegions?: RemoteRegions
  /** HTTPS, and certificates of nodes; HTTP unless given. */
  readonly security?: ListenerTls
  /** How unknown nodes are admitted; the defaults unless given. */
  readonly nodeAdmission?: NodeAdmission
  /** Whether clients may use other names too; as the environment of the tests says unless given. */
  readonly compatibility?: boolean
  /** Told of every node that speaks. */
  readonly seen?: (nodeId: string) => void
}

/** The real HTTP application over the memory engine, with a clock that moves only when told. */
export interface TestServer {
  readonly clock: SimulatedClock
  readonly context: WorkloadContext
  /** For whoever runs the evaluation loop. */
  readonly broker: EvaluationBroker
  readonly engine: MemoryEngine
  /** The routes that are mounted. */
  readonly routes: readonly Route[]
  /** The HTTP server, which listens after `listen`. */
  readonly http: Server
  /** What was logged as an error. */
  readonly faults: readonly unknown[]
  /** What the server's HTTP port logged as a warning. */
  readonly warnings: readonly object[]
  /** What the operator wrote into the bootstrap reset file. */
  resetFile: string | undefined
  /** Calls a route of the contract and holds the answer against it. */
  call(route: V1RouteId, options?: CallOptions): Promise<Reply>
  /** The same for a call that must succeed: its body. */
  ok<I extends V1RouteId>(route: I, options?: CallOptions): Promise<BodyOf<I>>
  /** The same for a call that must not: its status and text. */
  refusal(route: V1RouteId, options?: CallOptions): Promise<readonly [number, string]>
  /** Calls any path; nothing is checked. */
  send(method: string, url: string, options?: CallOptions): Promise<Reply>
  /** Opens a port on loopback, for what a call in memory cannot show; its address. */
  listen(): Promise<string>
  close(): Promise<void>
}

export async function createTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const isKnown = options.compatibility ?? isCompatible()
  const aliases = aliasesOf(isKnown)
  const clock = new SimulatedClock()
  const engine = openMemoryEngine({ disk: options.disk ?? new MemoryDisk() })
  const store = await Store.open({ engine, clock, freezeRows: true })
  const random = { next: () => 0 }
  const sealer = createSealer({ sealingKey: Buffer.alloc(32, 7) })
  const policyAsker = options.policyAsker ?? sharedPolicyThread
  const faults: unknown[] = []
  const warnings: object[] = []
  const broker = new EvaluationBroker({ store, clock })
  const context: WorkloadContext = {
    store,
    view: new StateView(store),
    evaluations: broker,
    log: { error: (fields) => void faults.push(fields) },
    capacity: new StateCapacity(),
    clock,
    random,
    ids: seededIds((options.idSeed ?? 0) + engine.initialPosition.lastIndex + 1),
    sealer,
    policyEngine: policyAsker,
    jobPolicies: new JobPolicyEvaluator({
      source: createPolicySource({ store, sealer }),
      engine: policyAsker,
    }),
    jobFiles: options.jobFiles ?? sharedJobFiles[isKnown ? 'compatible' : 'own'],
    planGate: createPlanGate(clock),
    region: options.region ?? 'global',
    ...(options.otherRegions !== undefined && { regions: options.otherRegions }),
    utcOffsetAt: createTimeZoneOffset(),
    aclEnabled: options.aclEnabled ?? true,
    joinToken: 'join',
    ruleAliases: aliases.rules,
    ...(options.nodeAdmission !== undefined && { nodeAdmission: options.nodeAdmission }),
    readBootstrapReset: async () => server.resetFile,
  }
  await ensureBuiltIns(context)
  const http = createApp({
    context,
    authenticator: new Authenticator(context),
    hub: new EventBroker(store.log, clock, store.durableIndex),
    sessions: new NodeSessions(store),
    random,
    agent: { ...AGENT, ...options.agent },
    log: {
      ...SILENT_LOG,
      error: (fields) => void faults.push(fields),
      warn: (fields) => void warnings.push(fields),
    },
    version: '0.0.0',
    corsOrigins: options.corsOrigins ?? [],
    responseHeaders: options.responseHeaders ?? {},
    usesPlainHttp: IS_PLAIN_HTTP,
    requestsPerSecond: options.requestsPerSecond ?? 0,
    ...(options.limits !== undefined && { limits: options.limits }),
    externalUrl: options.externalUrl ?? '',
    ...(options.webhooks !== undefined && { webhooks: options.webhooks }),
    heartbeatMs: () => 10_000,
    onNodeSeen: (nodeId) => options.seen?.(nodeId),
    aliases,
    ...(options.security !== undefined && { security: options.security }),
    ...(options.regions !== undefined && { regions: options.regions }),
    ...(options.leader !== undefined && { leader: options.leader }),
  })
  apps.add(new WeakRef(http))
  const server: TestServer = {
    clock,
    context,
    broker,
    engine,
    routes: http.routes,
    http: http.app.server,
    faults,
    warnings,
    resetFile: undefined,
    async send(method, url, { body, token, headers } = {}) {
      const isSentAsIs = typeof body === 'string' || Buffer.isBuffer(body)
      const payload = isSentAsIs ? body : JSON.stringify(body)
      const response = await http.app.inject({
        // Any method may be tried; inject's type names the usual ones.
        method: method as 'GET',
        url,
        headers: { ...headers, ...(token === undefined ? {} : { [HEADERS.token]: token }) },
        ...(payload === undefined ? {} : { payload }),
      })
      return replyOf(response)
    },
    async call(id, call = {}) {
      const route: Route = v1Routes[id]
      const reply = await server.send(
        call.method ?? route.methods[0] ?? 'GET',
        urlOf(route, call),
        call,
      )
      assert.deepEqual(faults, [], `${id} is a fault of the server`)
      checkAnswer(route, reply)
      return reply
    },
    async ok<I extends V1RouteId>(id: I, call: CallOptions = {}) {
      const reply = await server.call(id, call)
      assert.equal(reply.status, 200, `${id} answered ${reply.status} ${reply.text}`)
      // checkAnswer held it against the schema that BodyOf is made from.
      return reply.body as BodyOf<I>
    },
    async refusal(id, call = {}) {
      const { status, text } = await server.call(id, call)
      assert.ok(status >= 400, `${id} answered ${status} ${text}`)
      return [status, text]
    },
    listen: () => http.app.listen({ host: '127.0.0.1', port: 0 }),
    async close() {
      await http.close()
      await store.close()
    },
  }
  return server
}

/**
 * `REEVE_TEST_COMPATIBILITY=false` runs every test of this harness on servers that know their own
 * names only: the API must not depend on the others.
 */
function isCompatible(): boolean {
  return process.env['REEVE_TEST_COMPATIBILITY'] !== 'false'
}

/** `REEVE_PLAIN_HTTP=true` runs every test of this harness with documented members of Node only. */
export const IS_PLAIN_HTTP = process.env['REEVE_PLAIN_HTTP'] === 'true'

/** Nothing is ever late. */
export const STILL: Clock = { nowMs: () => 0, monotonicMs: () => 0, after: () => () => undefined }

/**
 * One thread of each kind serves all tests of a process: to start one takes as long as ten tests.
 * They keep nothing but compiled code, and do not keep the process alive.
 */
const sharedPolicyThread = new WorkerEngine({ clock: STILL, version: '0.0.0' })
const sharedJobFiles = {
  compatible: new JobFileReader({ clock: STILL, aliases: aliasesOf(true).jobFile }),
  own: new JobFileReader({ clock: STILL }),
}

const MEMBER: AgentMember = {
  Name: 'test',
  Addr: '127.0.0.1',
  Port: 4646,
  Tags: {},
  Status: 'alive',
  ProtocolMin: 1,
  ProtocolMax: 1,
  ProtocolCur: 1,
  DelegateMin: 1,
  DelegateMax: 1,
  DelegateCur: 1,
}

const HOST_DATA: HostData = {
  OS: 'Linux',
  Network: [],
  ResolvConf: '',
  Hosts: '',
  Environment: {},
  Disk: {},
}

const AGENT: AgentInfo = {
  region: 'global',
  datacenter: 'dc1',
  leader: () => '127.0.0.1:4646',
  peers: () => ['127.0.0.1:4646'],
  member: () => MEMBER,
  isNamed: (server) => server === MEMBER.Name,
  members: () => [MEMBER],
  config: () => ({}),
  stats: () => ({}),
  health: () => ({ server: { ok: true, message: 'ok' } }),
  feed: { follow: () => () => undefined, droppedLine: () => '' },
  host: async () => HOST_DATA,
  nodeServers: () => undefined,
  forceLeave: async () => 'unknown',
}

/** Version 4 UUIDs that look random and are the same in every run. */
function seededIds(seed: number): IdSource {
  let state = seed
  const hex = (length: number): string => {
    let text = ''
    while (text.length < length) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      text += (state >>> 8).toString(16).padStart(6, '0')
    }
    return text.slice(0, length)
  }
  return { uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}` }
}

function urlOf(route: Route, { params = {}, query = {} }: CallOptions): string {
  const path = route.path.replaceAll(/:(\w+)/g, (_all, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  )
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      (typeof value === 'object' ? value : [value]).map((one): [string, string] => [
        name,
        String(one),
      ]),
    ),
  ).toString()
  return search === '' ? path : `${path}?${search}`
}

function replyOf(response: {
  readonly statusCode: number
  readonly body: string
  readonly rawPayload: Buffer
  readonly headers: Readonly<Record<string, unknown>>
}): Reply {
  const { headers, body: text } = response
  const header = (name: string): string | undefined => {
    const value = headers[name.toLowerCase()]
    return typeof value === 'string' ? value : undefined
  }
  const isJson = header('content-type')?.startsWith('application/json') === true
  const isPlain = header('content-encoding') === undefined
  return {
    status: response.statusCode,
    text,
    bytes: response.rawPayload,
    // HEAD has the headers of an answer and no body.
    body: isJson && isPlain && text !== '' ? JSON.parse(text) : undefined,
    headers,
    index: Number(header(HEADERS.index) ?? 0),
    nextToken: header(HEADERS.nextToken),
  }
}

interface Item {
  readonly ID: string
  readonly Namespace?: string
}

/** The items of a list, by what they are named with. */
export function itemsOf(reply: Reply): readonly Item[] {
  assert.ok(Array.isArray(reply.body), `no list: ${reply.status} ${reply.text}`)
  return reply.body
}

/** An agent that is not well answers 500 with the same body. */
const HEALTH: ReadonlySet<string> = new Set(['readAgentHealth'])

/** Status, type and body must be as the contract says, and the body must hold nothing else. */
function checkAnswer(route: Route, reply: Reply): void {
  const answers: Readonly<Record<number, RouteResponse>> = {
    405: METHOD_NOT_ALLOWED,
    ...route.answers,
  }
  const answer = answers[reply.status]
  const what = `${route.id} answered ${reply.status} ${reply.text.slice(0, 200)}`
  assert.ok(answer !== undefined, `${what}: the contract has no such status`)
  const isError = reply.status >= 400
  const hasCode = reply.headers[HEADERS.errorCode.toLowerCase()] !== undefined
  assert.equal(
    hasCode,
    isError && !HEALTH.has(route.id),
    `${what}: an error, and only that, has a code`,
  )
  const type = reply.headers['content-type']
  if (answer.schema === undefined) {
    assert.deepEqual([reply.text, type], ['', undefined], `${what}: the body must be empty`)
    return
  }
  if (answer.contentType !== undefined) {
    assert.equal(type, answer.contentType, what)
    return
  }
  assert.equal(type, 'application/json', what)
  assert.ok(reply.body !== undefined, what)
  assert.deepEqual(
    schemaErrors(answer.schema, reply.body),
    [],
    `${what}: not of the contract's shape`,
  )
  const declared = Value.Clean(answer.schema, structuredClone(reply.body))
  assert.deepEqual(reply.body, declared, `${what}: holds fields that the contract does not have`)
}
