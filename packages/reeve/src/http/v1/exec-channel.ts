import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { v1Routes } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { pipeMessages, type StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS } from '../../model/index.ts'
import {
  tooManyStreams,
  type Authenticator,
  type NodeRequests,
  type WorkloadContext,
} from '../../workload/index.ts'
import { refuseUpgrade, wantsWebSocket } from '../agent/upgrade.ts'
import { streamSocket, WebSocketAcceptor } from '../agent/web-socket.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import { isOwnPage } from '../page-guard.ts'
import type { HttpLog } from '../server.ts'
import { noteRefusedSession, recordSession, type ExecAsked } from './exec-audit.ts'
import { closingOf, type Closing } from './exec-closing.ts'
import { readHandshake } from './exec-handshake.ts'
import { passInput, type FrameBudget } from './exec-input.ts'
import { watchRights } from './exec-rights.ts'
import { prepareTarget, readTarget, type ExecTarget } from './exec-target.ts'
import { secretOf } from '../pipeline/credentials.ts'
import type { LeaderRouter } from '../pipeline/leader-routing.ts'
import { routedRoute } from '../pipeline/pipeline.ts'
import { RateLimit } from '../pipeline/rate-limit.ts'
import type { RegionRouter } from '../pipeline/region-routing.ts'
import type { WebSocketChannel } from '../pipeline/upgrades.ts'

export interface ExecChannelHost {
  readonly context: WorkloadContext
  readonly authenticator: Authenticator
  readonly requests: Pick<NodeRequests, 'open' | 'streamSlots'>
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
const GOODBYE_MS_MAX = 2_000

/** Exec sessions and job actions: each client WebSocket is connected to one that its node opens. */
export class ExecChannelServer implements WebSocketChannel {
  /** Job actions are routed in the same way. */
  readonly route = routedRoute(v1Routes.execAllocation)
  readonly peer = 'client'
  readonly #host: ExecChannelHost
  readonly #sockets: WebSocketAcceptor

  constructor(host: ExecChannelHost) {
    this.#host = host
    this.#sockets = new WebSocketAcceptor(host.clock, {
      messageBytesMax: LIMITS.execFrameBytesMax,
      oneMessagePerTick: true,
    })
  }

  serves(request: IncomingMessage): boolean {
    return wantsWebSocket(request) && readTarget(request.url ?? '') !== undefined
  }

  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const target = readTarget(request.url ?? '')
    if (target === undefined) return refuseUpgrade(socket, 404, '')
    if (!isOwnOrigin(request, this.#host.corsOrigins)) {
      noteForeignPage(this.#host, { target, request })
      return refuseUpgrade(socket, FOREIGN_PAGE.status, FOREIGN_PAGE.reason)
    }
    const full = this.#tooManySessions({ target, request })
    if (full !== undefined) return refuseUpgrade(socket, full.status ?? 0, full.reason, RETRY)
    this.#sockets.accept(request, socket, head, (webSocket) => {
      const client = streamSocket(webSocket, this.#host.clock)
      serve(this.#host, client, { target, request }).catch((thrown: unknown) => {
        this.#host.log.error({ err: thrown, url: target.path }, 'exec failed')
        client.close(1011, 'internal error')
      })
    })
  }

  /**
   * Checks the session limit before the upgrade if the token is in a header: over HTTP the client
   * learns when to retry. A page sends its token in the first frame and gets the error there.
   */
  #tooManySessions(asked: Asked): Closing | undefined {
    const secret = secretOf(asked.request)
    const caller = this.#host.authenticator.authenticate(secret)
    return secret !== undefined && caller.ok
      ? tooManySessions(this.#host, caller.value, asked)
      : undefined
  }

  close(): void {
    for (const socket of this.#sockets.clients) {
      socket.close(1001, 'the server stops')
      // A client that does not respond must not delay the shutdown.
      socket.once(
        'close',
        this.#host.clock.after(GOODBYE_MS_MAX, () => socket.terminate()),
      )
    }
    this.#sockets.close()
  }
}

/**
 * Reports whether the page may open a channel. Browsers send the origin of a page, and the page
 * runs in the user's network: foreign pages must not reach a server that only the user can.
 */
function isOwnOrigin({ headers }: IncomingMessage, allowed: readonly string[]): boolean {
  const { origin } = headers
  if (origin === undefined || allowed.includes(origin) || allowed.includes('*')) return true
  return isOwnPage(headers)
}

const RETRY = { 'retry-after': '1' } as const

const FOREIGN_PAGE = {
  code: 1008,
  reason: 'the page that asks comes from another origin',
  status: 403,
} as const satisfies Closing

interface Asked {
  readonly target: ExecTarget
  readonly request: IncomingMessage
}

/**
 * Records a rejected foreign page only if it sends a token in a header, which no page can do:
 * otherwise websites could fill the log through their visitors.
 */
function noteForeignPage(host: ExecChannelHost, asked: Asked): void {
  const secret = secretOf(asked.request)
  const caller = host.authenticator.authenticate(secret)
  if (secret === undefined || !caller.ok) return
  noteRefusedSession(auditedOf(host, caller.value, asked), FOREIGN_PAGE)
}

/** Returns the closing reason if the caller has too many sessions. */
function tooManySessions(host: ExecChannelHost, caller: Caller, asked: Asked): Closing | undefined {
  const { exec } = host.requests.streamSlots
  // Without ACLs there are no tokens to tell callers apart.
  if (caller.accessorId === '' || !exec.isFull(caller.accessorId)) return undefined
  const closing = closingOf(tooManyStreams(exec))
  noteRefusedSession(auditedOf(host, caller, asked), closing)
  return closing
}

/** Collects the parts of the audit records of a session. */
function auditedOf(host: ExecChannelHost, caller: Caller, { target, request }: Asked): ExecAsked {
  const { audit, context } = host
  const address = host.leader?.clientAddressOf(request) ?? request.socket.remoteAddress ?? ''
  const via = host.regions?.forwardedBy(request)
  return { audit, store: context.store, caller, target, request, address, via }
}

async function serve(host: ExecChannelHost, client: StreamSocket, asked: Asked): Promise<void> {
  const secret = await readHandshake(client, { ...asked, clock: host.clock })
  const opened = secret.ok ? await open(host, secret.value, asked) : secret.error
  if ('code' in opened) return client.close(opened.code, opened.reason)
  join(client, opened.stream, () => frameBudget(opened.tenant))
  const end = watchRights({
    ...host,
    secret: secret.ok ? secret.value : undefined,
    check: (caller) => {
      const prepared = prepareTarget(host.context, caller, asked.target)
      return prepared.ok ? undefined : prepared.error
    },
    lost: ({ code, reason }) => {
      client.close(code, reason)
      // A client that does not respond to the close must not keep the command running.
      opened.stream.close(1001, 'the caller has lost its right')
    },
  })
  client.onClose(end)
}

interface Opened {
  /** The stream to the node. */
  readonly stream: StreamSocket
  /** The tenant charged for the client's frames: its token, or its address without ACLs. */
  readonly tenant: string
}

async function open(
  host: ExecChannelHost,
  secret: string | undefined,
  channel: Asked,
): Promise<Opened | Closing> {
  const caller = host.authenticator.authenticate(secret)
  if (!caller.ok) return { code: 1008, reason: 'Permission denied' }
  const full = tooManySessions(host, caller.value, channel)
  if (full !== undefined) return full
  const prepared = prepareTarget(host.context, caller.value, channel.target)
  const asked = auditedOf(host, caller.value, channel)
  if (!prepared.ok) {
    noteRefusedSession(asked, prepared.error)
    return prepared.error
  }
  await recordSession(asked, prepared.value)
  const { nodeId, request: wanted } = prepared.value
  const { accessorId } = caller.value
  const { allocation, task, command, tty } = wanted
  const { address } = asked
  host.log.info?.({ allocation, task, command, tty, accessorId, nodeId, address }, 'exec')
  const stream = await host.requests.open(nodeId, { request: wanted, accessorId })
  if (stream.ok) return { stream: stream.value, tenant: accessorId || address }
  const closing = closingOf(stream.error)
  noteRefusedSession(asked, closing)
  return closing
}

const PASSED_ON: ReadonlySet<number> = new Set([1000, 1008, 1011])

function join(client: StreamSocket, node: StreamSocket, budget: FrameBudget): void {
  client.onClose(() => {
    // A paused node stream would have to be read to its end before the node's close frame is seen.
    if (node.isPaused) node.terminate()
    else node.close(1001, 'the caller has gone')
  })
  node.onClose((code, reason) => {
    if (PASSED_ON.has(code)) client.close(code, reason)
    else client.close(1011, 'the connection to the node was lost')
  })
  pipeMessages(node, client)
  passInput(client, node, { clock: timers, budget })
}

/** Frames are merged by the machine's time, independent of the server's clock. */
const timers: Clock = {
  nowMs: () => performance.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, wake) => {
    const timer = setTimeout(wake, delayMs).unref()
    return () => clearTimeout(timer)
  },
}

const frameRate = new RateLimit(timers, LIMITS.execFramesPerSecond)

/**
 * Returns for how many milliseconds the next frame must wait; 0 if none. All sessions of a token
 * share one budget, on whatever nodes they run.
 */
function frameBudget(tenant: string): number {
  const { isAllowed, resetSeconds } = frameRate.take(tenant)
  return isAllowed ? 0 : resetSeconds * MS_PER_SECOND
}

const MS_PER_SECOND = 1_000
