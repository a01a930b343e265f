import type { ExecHandshake, ExecRequestFrame, ExecResponseFrame, TtySize } from '@reeve/contract'
import { urlPathOf } from '../call/address.ts'
import { base64FromBytes, bytesFromBase64 } from '../bytes.ts'
import { queryWithDefaults, type Call, type Connection } from '../call/connection.ts'
import { execAllocation, execVersion } from '../called-routes.ts'
import { startDeadline } from '../call/deadline.ts'
import { ExecError } from '../errors.ts'
import type { ExecInput, ExecSession } from '../route-types.ts'
import { silenceError, timeoutError, socketError, invalidResponseError } from '../call/errors.ts'
import { LIMITS } from '../limits.ts'
import { pause } from '../timing.ts'

/**
 * Opens a session. Resolves when the WebSocket is open. The server reports most errors after that;
 * then `exit` rejects with them.
 */
export async function openSession(connection: Connection, call: Call): Promise<ExecSession> {
  const { params = {}, signal, timeoutMs = connection.timeoutMs } = call.request
  signal?.throwIfAborted()
  // The token is always sent in the first frame, because a browser cannot add headers to a
  // WebSocket.
  const query = {
    ...queryWithDefaults(connection, call),
    ws_handshake: connection.token !== undefined,
  }
  const target = urlPathOf(call.route, params, query)
  const socket = connection.openSocket(connection.address.replace(/^http/, 'ws') + target)
  const session = new Session(connection, socket)
  session.closeOnAbort(signal)
  const deadline = startDeadline(connection.timing, timeoutMs)
  deadline.signal.addEventListener('abort', () => session.fail(timeoutError(connection, timeoutMs)))
  await session.opened.finally(() => deadline.cancel())
  return session
}

class Session implements ExecSession {
  readonly stdout = new ExecOutput()
  readonly stderr = new ExecOutput()
  readonly stdin: ExecInput = {
    write: (data) => this.#enqueueWrite(() => this.#write(data)),
    close: () => this.#enqueueWrite(async () => this.#send({ stdin: { close: true } })),
  }
  readonly #connection: Connection
  readonly #socket: WebSocket
  readonly #opened = Promise.withResolvers<void>()
  readonly #exit = Promise.withResolvers<number>()
  #isOpen = false
  #isOver = false
  /** Heartbeats sent since the last received frame. */
  #unansweredHeartbeats = 0
  #cancelHeartbeat: () => void = () => undefined
  #removeAbortListener: () => void = () => undefined
  /** The tail of the write queue: writes are sequential. */
  #lastWrite: Promise<void> = Promise.resolve()

  constructor(connection: Connection, socket: WebSocket) {
    this.#connection = connection
    this.#socket = socket
    // A caller that reads only the output streams gets the error there, so `exit` may go
    // unobserved.
    this.#exit.promise.catch(() => undefined)
    socket.addEventListener('open', () => this.#onOpen())
    socket.addEventListener('message', ({ data }) => this.#onMessage(data))
    // An error event carries no details and is followed by a close; some sockets throw without a
    // listener.
    socket.addEventListener('error', () => undefined)
    socket.addEventListener('close', ({ code, reason }) => {
      this.fail(this.#isOpen ? new ExecError(code, reason) : socketError(connection))
    })
  }

  get opened(): Promise<void> {
    return this.#opened.promise
  }

  get exit(): Promise<number> {
    return this.#exit.promise
  }

  /** Closes the session with the reason of the signal when it aborts. */
  closeOnAbort(signal: AbortSignal | undefined): void {
    const onAbort = () => this.fail(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#removeAbortListener = () => signal?.removeEventListener('abort', onAbort)
  }

  resize({ height, width }: TtySize): void {
    this.#send({ tty_size: { height, width } })
  }

  close(): void {
    this.fail(new ExecError(NORMAL_CLOSURE, 'left by the caller'))
  }

  fail(error: Error): void {
    if (this.#isOver) return
    this.#end(error)
    this.#opened.reject(error)
    this.#exit.reject(error)
  }

  #onOpen(): void {
    if (this.#isOver) return
    this.#isOpen = true
    const { token } = this.#connection
    if (token !== undefined) {
      const handshake: ExecHandshake = { version: execVersion, auth_token: token }
      this.#socket.send(JSON.stringify(handshake))
    }
    this.#scheduleHeartbeat()
    this.#opened.resolve()
  }

  #onMessage(data: unknown): void {
    if (this.#isOver) return
    this.#unansweredHeartbeats = 0
    const frame = typeof data === 'string' ? parseFrame(data) : undefined
    if (frame === undefined) {
      this.fail(invalidResponseError(this.#connection, 'a frame that is not of a session'))
      return
    }
    this.#pushOutput(this.stdout, frame.stdout)
    this.#pushOutput(this.stderr, frame.stderr)
    if (frame.exited === true) this.#onExit(frame.result)
  }

  #pushOutput(output: ExecOutput, chunk: ExecResponseFrame['stdout']): void {
    const bytes = bytesFromBase64(chunk?.data ?? '')
    if (bytes === undefined) {
      this.fail(invalidResponseError(this.#connection, 'output that is not base64'))
      return
    }
    output.push(bytes)
    if (chunk?.close === true) output.end()
    const unread = this.stdout.unreadBytes + this.stderr.unreadBytes
    if (unread > LIMITS.execUnreadBytesMax) {
      this.fail(new ExecError(MESSAGE_TOO_BIG, `${unread} bytes of output were not read`))
    }
  }

  #onExit(result: ExecResponseFrame['result']): void {
    if (this.#isOver) return
    // A missing exit code means 0.
    const code = result?.exit_code ?? 0
    if (!Number.isSafeInteger(code)) {
      this.fail(invalidResponseError(this.#connection, 'an exit code that is not a number'))
      return
    }
    this.#end()
    this.#exit.resolve(code)
  }

  #end(failure?: Error): void {
    this.#isOver = true
    this.#cancelHeartbeat()
    this.#removeAbortListener()
    this.stdout.end(failure)
    this.stderr.end(failure)
    this.#socket.close(NORMAL_CLOSURE)
  }

  #scheduleHeartbeat(): void {
    const { timing } = this.#connection
    this.#cancelHeartbeat = timing.after(LIMITS.execHeartbeatMs, () => this.#sendHeartbeat())
  }

  #sendHeartbeat(): void {
    const silenceMs = this.#unansweredHeartbeats * LIMITS.execHeartbeatMs
    if (silenceMs >= LIMITS.execSilenceMsMax) {
      this.fail(silenceError(this.#connection, silenceMs))
      return
    }
    this.#unansweredHeartbeats += 1
    this.#send({})
    this.#scheduleHeartbeat()
  }

  #enqueueWrite(work: () => Promise<void>): Promise<void> {
    const write = this.#lastWrite.then(work)
    this.#lastWrite = write.catch(() => undefined)
    return write
  }

  async #write(data: string | Uint8Array): Promise<void> {
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data
    for (let at = 0; at < bytes.length; at += LIMITS.execChunkBytes) {
      await this.#waitForDrain()
      const chunk = bytes.subarray(at, at + LIMITS.execChunkBytes)
      this.#send({ stdin: { data: base64FromBytes(chunk) } })
    }
  }

  /** A WebSocket does not signal when its buffer is empty, so it is polled. */
  async #waitForDrain(): Promise<void> {
    while (!this.#isOver && this.#socket.bufferedAmount > LIMITS.execPendingBytesMax) {
      await pause(this.#connection.timing, LIMITS.execDrainPollMs)
    }
    if (this.#isOver) throw new ExecError(NORMAL_CLOSURE, 'the command no longer reads')
  }

  /** Drops frames after the session has closed. */
  #send(frame: ExecRequestFrame): void {
    if (!this.#isOver) this.#socket.send(JSON.stringify(frame))
  }
}

const NORMAL_CLOSURE = 1000
const MESSAGE_TOO_BIG = 1009

function parseFrame(text: string): ExecResponseFrame | undefined {
  try {
    const frame: unknown = JSON.parse(text)
    // Every member of a frame is optional; used members are validated by their readers.
    return typeof frame === 'object' && frame !== null ? frame : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/**
 * An output stream of a command as an async iterable. It buffers unread bytes; leaving the loop
 * drops them. It supports one reader: a second loop continues where the first one stopped.
 */
class ExecOutput implements AsyncIterable<Uint8Array> {
  #unread: Uint8Array[] = []
  #unreadBytes = 0
  #isOver = false
  #failure: Error | undefined
  #notifyReader: (() => void) | undefined

  get unreadBytes(): number {
    return this.#unreadBytes
  }

  push(bytes: Uint8Array): void {
    if (this.#isOver || bytes.length === 0) return
    this.#unread.push(bytes)
    this.#unreadBytes += bytes.length
    this.#notifyReader?.()
  }

  /** Ends the output. An error is thrown after the unread bytes. */
  end(failure?: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#failure = failure
    this.#notifyReader?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const unread = this.#unread
        this.#unread = []
        for (const bytes of unread) {
          this.#unreadBytes -= bytes.length
          yield bytes
        }
        if (this.#unread.length > 0) continue
        if (this.#isOver) break
        await new Promise<void>((resolve) => (this.#notifyReader = resolve))
      }
    } finally {
      this.#isOver = true
      this.#unread = []
      this.#unreadBytes = 0
    }
    if (this.#failure !== undefined) throw this.#failure
  }
}

export interface ExecRequest {
  /** Full ID of the allocation. */
  readonly allocId: string
  readonly task: string
  /** The command and its arguments; it runs without a shell. */
  readonly command: readonly string[]
  /** Allocates a terminal; stderr is merged into stdout then. */
  readonly tty?: boolean | undefined
  /** Size of the terminal. */
  readonly size?: TtySize | undefined
  readonly namespace?: string | undefined
  readonly region?: string | undefined
  /** Ends the session and the command. */
  readonly signal?: AbortSignal | undefined
  /** Timeout for opening the session. */
  readonly timeoutMs?: number | undefined
}

/** Runs a command inside a task. */
export async function execute(connection: Connection, request: ExecRequest): Promise<ExecSession> {
  const { allocId, task, command, tty, size, namespace, region, signal, timeoutMs } = request
  const query = { task, command: JSON.stringify(command), tty, namespace, region }
  const session = await openSession(connection, {
    route: execAllocation,
    request: { params: { alloc_id: allocId }, query, signal, timeoutMs },
  })
  if (size !== undefined) session.resize(size)
  return session
}
