import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type AuditVia, v1Routes } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import type { Logger } from '@reeve/kit/log.ts'
import type { StreamBuffers, StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS } from '../../model/index.ts'
import type { AuditEntry, Store } from '../../state/index.ts'
import type { Authenticator, PreparedExec, WorkloadContext } from '../../workload/index.ts'
import {
  type CloseFrame,
  connectExec,
  ExecFrameLimits,
  type NodeRpcClient,
  streamSocket,
  tooManyStreams,
  type UpgradeRejection,
  watchAuthorization,
  WebSocketAcceptor,
  type WebSocketChannel,
} from '../../sessions/index.ts'
import { type AuditLog, workloadActor } from '../../audit/index.ts'
import { isSameOrigin } from '../transport/cross-origin.ts'
import {
  closeFrameFor,
  authorizeExec,
  type ExecTarget,
  parseExecUrl,
  readHandshake,
} from './exec-request.ts'
import { tokenFrom } from '../pipeline/tenants.ts'
import type { LeaderRouter } from '../pipeline/leader-routing.ts'
import type { RegionRouter } from '../pipeline/region-routing.ts'
import { requestId } from '../request-normalization.ts'

export interface ExecChannelDeps {
  readonly context: WorkloadContext
  readonly authenticator: Authenticator
  readonly requests: Pick<NodeRpcClient, 'open' | 'streamSlots'>
  readonly audit: AuditLog
  readonly clock: Clock
  readonly log: Logger
  readonly streamBuffers: StreamBuffers
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
  readonly peer = 'client'
  readonly #host: ExecChannelDeps
  readonly #sockets: WebSocketAcceptor
  readonly #frameLimits = new ExecFrameLimits()

  constructor(host: ExecChannelDeps) {
    this.#host = host
    this.#sockets = new WebSocketAcceptor(host.clock, {
      messageBytesMax: LIMITS.execFrameBytesMax,
      oneMessagePerTick: true,
    })
  }

  serves(request: IncomingMessage): boolean {
    return (
      request.headers.upgrade?.toLowerCase() === 'websocket' &&
      parseExecUrl(request.url ?? '') !== undefined
    )
  }

  handleUpgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): UpgradeRejection | undefined {
    const target = parseExecUrl(request.url ?? '')
    if (target === undefined) return { status: 404, message: '' }
    if (!isAllowedOrigin(request, this.#host.corsOrigins)) {
      recordCrossOriginExec(this.#host, { target, request })
      return { status: CROSS_ORIGIN_FRAME.status, message: CROSS_ORIGIN_FRAME.reason }
    }
    const limitFrame = this.#sessionLimitFrame({ target, request })
    if (limitFrame !== undefined)
      return { status: limitFrame.status ?? 0, message: limitFrame.reason, headers: RETRY }
    this.#sockets.accept(request, socket, head, (webSocket) => {
      const client = streamSocket(webSocket, this.#host.clock, this.#host.streamBuffers)
      this.#serve(client, { target, request }).catch((thrown: unknown) => {
        this.#host.log.error({ err: thrown, url: target.path }, 'exec failed')
        client.close(1011, 'internal error')
      })
    })
    return undefined
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

  async #serve(client: StreamSocket, exec: ExecRequest): Promise<void> {
    const host = this.#host
    const secret = await readHandshake(client, { ...exec, clock: host.clock })
    const opened = secret.ok ? await openExec(host, secret.value, exec) : secret.error
    if ('code' in opened) return client.close(opened.code, opened.reason)
    connectExec(client, opened.stream, this.#frameLimits.budgetOf(opened.tenant))
    const endWatch = watchAuthorization({
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
    client.onClose(endWatch)
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
  host.log.info({ allocation, task, command, tty, accessorId, nodeId, address }, 'exec')
  const stream = await host.requests.open(nodeId, { request: nodeRequest, accessorId })
  if (stream.ok) return { stream: stream.value, tenant: accessorId || address }
  const closing = closeFrameFor(stream.error)
  recordRejectedSession(auditInput, closing)
  return closing
}

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
