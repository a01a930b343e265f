import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type AuditVia, v1Routes } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { pipeMessages, type StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS } from '../../model/index.ts'
import type { AuditEntry, Store } from '../../state/index.ts'
import {
  tooManyStreams,
  type Authenticator,
  type NodeRpcClient,
  type WorkloadContext,
  type PreparedExec,
} from '../../workload/index.ts'
import { rejectUpgrade, isWebSocketUpgrade } from '../agent/upgrade.ts'
import { streamSocket, WebSocketAcceptor } from '../agent/websocket.ts'
import { type AuditLog, workloadActor } from '../audit/audit-log.ts'
import { isSameOrigin } from '../transport/cross-origin.ts'
import type { HttpLog } from '../server.ts'
import {
  closeFrameFor,
  type CloseFrame,
  authorizeExec,
  type ExecTarget,
  parseExecUrl,
  readHandshake,
} from './exec-request.ts'
import { forwardInput, type FrameBudget } from './exec-input.ts'
import { watchAuthorization } from './authorization-watch.ts'
import { tokenFrom } from '../pipeline/tenants.ts'
import type { LeaderRouter } from '../pipeline/leader-routing.ts'
import { routedRoute } from '../pipeline/pipeline.ts'
import { RateLimit } from '../pipeline/rate-limit.ts'
import type { RegionRouter } from '../pipeline/region-routing.ts'
import type { WebSocketChannel } from '../pipeline/upgrades.ts'
import { requestId } from '../request-normalization.ts'

export interface ExecChannelDeps {
  readonly context: WorkloadContext
  readonly authenticator: Authenticator
  readonly requests: Pick<NodeRpcClient, 'open' | 'streamSlots'>
  readonly audit: AuditLog
  readonly clock: Clock
  readonly log: HttpLog
  /** Foreign origins whose pages may open channels. */
  readonly corsOrigins: readonly string[]
  /** Finds the client address of a request that another server has forwarded. */
  readonly leader?: Pick<LeaderRouter, 'clientAddressOf'>
  /** Finds the region that has forwarded a request, as it claims. */
  readonly regions?: Pick<RegionRouter, 'forwardedBy'>
}

/** Time that clients have to close their channel when the server stops. */
const CLOSE_TIMEOUT_MS = 2_000

/** Serves exec sessions and job actions: connects each client's WebSocket to one from the node. */
export class ExecChannelServer implements WebSocketChannel {
  /** Route of exec sessions; job actions are routed alike. */
  readonly route = routedRoute(v1Routes.execAllocation)
  readonly peer = 'client'
  readonly #host: ExecChannelDeps
  readonly #sockets: WebSocketAcceptor

  constructor(host: ExecChannelDeps) {
    this.#host = host
    this.#sockets = new WebSocketAcceptor(host.clock, {
      messageBytesMax: LIMITS.execFrameBytesMax,
      oneMessagePerTick: true,
    })
  }

  serves(request: IncomingMessage): boolean {
    return isWebSocketUpgrade(request) && parseExecUrl(request.url ?? '') !== undefined
  }

  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const target = parseExecUrl(request.url ?? '')
    if (target === undefined) return rejectUpgrade(socket, 404, '')
    if (!isAllowedOrigin(request, this.#host.corsOrigins)) {
      recordCrossOriginExec(this.#host, { target, request })
      return rejectUpgrade(socket, CROSS_ORIGIN_FRAME.status, CROSS_ORIGIN_FRAME.reason)
    }
    const limitFrame = this.#sessionLimitFrame({ target, request })
    if (limitFrame !== undefined)
      return rejectUpgrade(socket, limitFrame.status ?? 0, limitFrame.reason, RETRY)
    this.#sockets.accept(request, socket, head, (webSocket) => {
      const client = streamSocket(webSocket, this.#host.clock)
      serveExec(this.#host, client, { target, request }).catch((thrown: unknown) => {
        this.#host.log.error({ err: thrown, url: target.path }, 'exec failed')
        client.close(1011, 'internal error')
      })
    })
  }

  /**
   * Checks the session limit before the upgrade if the token is in a header: over HTTP the client
   * learns when to retry. A page sends its token in the first frame and gets the error there.
   */
  #sessionLimitFrame(exec: ExecRequest): CloseFrame | undefined {
    const secret = tokenFrom(exec.request)
    const caller = this.#host.authenticator.authenticate(secret)
    return secret !== undefined && caller.ok
      ? sessionLimitFrame(this.#host, caller.value, exec)
      : undefined
  }

  close(): void {
    for (const socket of this.#sockets.clients) {
      socket.close(1001, 'the server stops')
      // A client that does not respond must not delay the shutdown.
      socket.once(
        'close',
        this.#host.clock.after(CLOSE_TIMEOUT_MS, () => socket.terminate()),
      )
    }
    this.#sockets.close()
  }
}

/**
 * Reports whether the page may open a channel. Browsers send the origin of a page, and the page
 * runs in the user's network: foreign pages must not reach a server that only the user can.
 */
function isAllowedOrigin({ headers }: IncomingMessage, allowed: readonly string[]): boolean {
  const { origin } = headers
  if (origin === undefined || allowed.includes(origin) || allowed.includes('*')) return true
  return isSameOrigin(headers)
}

const RETRY = { 'retry-after': '1' } as const

const CROSS_ORIGIN_FRAME = {
  code: 1008,
  reason: 'the page has another origin',
  status: 403,
} as const satisfies CloseFrame

interface ExecRequest {
  readonly target: ExecTarget
  readonly request: IncomingMessage
}

/**
 * Records a rejected foreign page only if it sends a token in a header, which no page can do:
 * otherwise websites could fill the log through their visitors.
 */
function recordCrossOriginExec(host: ExecChannelDeps, exec: ExecRequest): void {
  const secret = tokenFrom(exec.request)
  const caller = host.authenticator.authenticate(secret)
  if (secret === undefined || !caller.ok) return
  recordRejectedSession(auditInputOf(host, caller.value, exec), CROSS_ORIGIN_FRAME)
}

/** Returns the closing reason if the caller has too many sessions. */
function sessionLimitFrame(
  host: ExecChannelDeps,
  caller: Caller,
  asked: ExecRequest,
): CloseFrame | undefined {
  const { exec } = host.requests.streamSlots
  // Without ACLs there are no tokens that identify callers.
  if (caller.accessorId === '' || !exec.isFull(caller.accessorId)) return undefined
  const closing = closeFrameFor(tooManyStreams(exec))
  recordRejectedSession(auditInputOf(host, caller, asked), closing)
  return closing
}

/** Collects the parts of the audit records of a session. */
function auditInputOf(
  host: ExecChannelDeps,
  caller: Caller,
  { target, request }: ExecRequest,
): ExecAuditInput {
  const { audit, context } = host
  const address = host.leader?.clientAddressOf(request) ?? request.socket.remoteAddress ?? ''
  const via = host.regions?.forwardedBy(request)
  return { audit, store: context.store, caller, target, request, address, via }
}

async function serveExec(
  host: ExecChannelDeps,
  client: StreamSocket,
  exec: ExecRequest,
): Promise<void> {
  const secret = await readHandshake(client, { ...exec, clock: host.clock })
  const opened = secret.ok ? await openExec(host, secret.value, exec) : secret.error
  if ('code' in opened) return client.close(opened.code, opened.reason)
  connectStreams(client, opened.stream, () => frameBudget(opened.tenant))
  const end = watchAuthorization({
    ...host,
    secret: secret.ok ? secret.value : undefined,
    authorize: (caller) => {
      const prepared = authorizeExec(host.context, caller, exec.target)
      return prepared.ok ? undefined : prepared.error
    },
    onRevoked: ({ code, reason }) => {
      client.close(code, reason)
      // A client that does not respond to the close must not keep the command running.
      opened.stream.close(1001, 'the permission was revoked')
    },
  })
  client.onClose(end)
}

interface OpenedExec {
  /** The stream to the node. */
  readonly stream: StreamSocket
  /** The tenant charged for the client's frames: its token, or its address without ACLs. */
  readonly tenant: string
}

async function openExec(
  host: ExecChannelDeps,
  secret: string | undefined,
  channel: ExecRequest,
): Promise<OpenedExec | CloseFrame> {
  const caller = host.authenticator.authenticate(secret)
  if (!caller.ok) return { code: 1008, reason: 'Permission denied' }
  const limitFrame = sessionLimitFrame(host, caller.value, channel)
  if (limitFrame !== undefined) return limitFrame
  const prepared = authorizeExec(host.context, caller.value, channel.target)
  const auditInput = auditInputOf(host, caller.value, channel)
  if (!prepared.ok) {
    recordRejectedSession(auditInput, prepared.error)
    return prepared.error
  }
  await recordSession(auditInput, prepared.value)
  const { nodeId, request: nodeRequest } = prepared.value
  const { accessorId } = caller.value
  const { allocation, task, command, tty } = nodeRequest
  const { address } = auditInput
  host.log.info?.({ allocation, task, command, tty, accessorId, nodeId, address }, 'exec')
  const stream = await host.requests.open(nodeId, { request: nodeRequest, accessorId })
  if (stream.ok) return { stream: stream.value, tenant: accessorId || address }
  const closing = closeFrameFor(stream.error)
  recordRejectedSession(auditInput, closing)
  return closing
}

const FORWARDED_CODES: ReadonlySet<number> = new Set([1000, 1008, 1011])

function connectStreams(client: StreamSocket, node: StreamSocket, budget: FrameBudget): void {
  client.onClose(() => {
    // A paused node stream would have to be read to its end before the node's close frame is seen.
    if (node.isPaused) node.terminate()
    else node.close(1001, 'the caller has gone')
  })
  node.onClose((code, reason) => {
    if (FORWARDED_CODES.has(code)) client.close(code, reason)
    else client.close(1011, 'the connection to the node was lost')
  })
  pipeMessages(node, client)
  forwardInput(client, node, { clock: realTimeClock, budget })
}

/** Frames are merged by the machine's time, independent of the server's clock. */
const realTimeClock: Clock = {
  nowMs: () => performance.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, wake) => {
    const timer = setTimeout(wake, delayMs).unref()
    return () => clearTimeout(timer)
  },
}

const frameRate = new RateLimit(realTimeClock, LIMITS.execFramesPerSecond)

/**
 * Returns for how many milliseconds the next frame must wait; 0 if none. All sessions of a token
 * share one budget, on whatever nodes they run.
 */
function frameBudget(tenant: string): number {
  const { isAllowed, resetSeconds } = frameRate.take(tenant)
  return isAllowed ? 0 : resetSeconds * MS_PER_SECOND
}

const MS_PER_SECOND = 1_000

/** The parts of a session's audit record. */
export interface ExecAuditInput {
  readonly audit: AuditLog
  readonly store: Store
  readonly caller: Caller
  readonly target: ExecTarget
  readonly request: IncomingMessage
  /** Client address. */
  readonly address: string
  readonly via: AuditVia | undefined
}

/** HTTP status of every session that was opened. */
const SWITCHING_PROTOCOLS = 101

/** Records the caller, command and task of a session. Resolves when the record is durable. */
async function recordSession(
  input: ExecAuditInput,
  { request: { allocation, command } }: PreparedExec,
): Promise<void> {
  await input.audit.recordNow(sessionEntry(input, allocation), {
    status: SWITCHING_PROTOCOLS,
    command,
  })
}

/** Records a rejected session of a caller with a token. Invalid requests leave no record. */
function recordRejectedSession(input: ExecAuditInput, { status }: CloseFrame): void {
  if (status === undefined || input.caller.type === 'anonymous') return
  const { subject } = input.target
  const allocation = subject.kind === 'allocation' ? subject.allocId : ''
  input.audit.recordDeferred(sessionEntry(input, allocation), { status })
}

function sessionEntry(
  { store, caller, target, request, address, via }: ExecAuditInput,
  allocId: string,
): AuditEntry {
  const { subject, query } = target
  const row = store.tables.allocations.find(allocId)
  const job = subject.kind === 'action' ? subject.jobId : (row?.JobID ?? '')
  const queryNamespace = subject.kind === 'action' ? query.get('namespace') || 'default' : ''
  const route = subject.kind === 'action' ? v1Routes.runJobAction : v1Routes.execAllocation
  const resources = [allocId, job, query.get('task') ?? '']
  return {
    actor: workloadActor(caller),
    address,
    requestId: requestId(request.headers['x-request-id']),
    method: request.method ?? '',
    route: route.path,
    action: route.id,
    successStatus: SWITCHING_PROTOCOLS,
    via,
    namespace: row?.Namespace ?? queryNamespace,
    pathResources: resources.filter((one) => one !== ''),
  }
}
