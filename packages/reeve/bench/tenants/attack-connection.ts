/** Sockets of attackers: they write anything, read or not, and count responses. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { CONNECTIONS, type Assault } from './attack.ts'

/**
 * Attackers connect from a different loopback address than the victim and the nodes, so that
 * per-address limits distinguish them.
 */
const ATTACKER_ADDRESS = '127.0.0.2'
const RECONNECT_MS = 20
const CONNECT_MS_MAX = 10_000

/** Opens a connection; undefined if the server rejects it or the time is up. */
export async function openSocket(
  { target, signal, count }: Assault,
  port = target.port,
): Promise<Socket | undefined> {
  if (signal.aborted) return undefined
  const socket = connect({ host: '127.0.0.1', port, localAddress: ATTACKER_ADDRESS, noDelay: true })
  const leave = (): void => void socket.destroy()
  signal.addEventListener('abort', leave, { once: true })
  socket.on('close', () => {
    signal.removeEventListener('abort', leave)
    if (!signal.aborted) count('closed')
  })
  // 'close' follows.
  socket.on('error', () => undefined)
  try {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS_MAX)])
    await once(socket, 'connect', { signal: deadline })
    return socket
  } catch {
    socket.destroy()
    return undefined
  }
}

/** Opens as many as the server accepts, a few at a time. */
export async function openSockets(assault: Assault, many: number): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (let at = 0; at < many && !assault.signal.aborted; at += CONNECTIONS) {
    const count = Math.min(CONNECTIONS, many - at)
    const opened = await Promise.all(Array.from({ length: count }, () => openSocket(assault)))
    for (const socket of opened) if (socket !== undefined) sockets.push(socket)
  }
  return sockets
}

/** Resolves when the time is up. */
export async function untilOver({ signal }: Assault): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

/** Sleeps, at most until the time is up. */
export async function pause({ signal }: Assault, durationMs: number): Promise<void> {
  await wait(durationMs, undefined, { signal }).catch(() => undefined)
}

/**
 * Writes the same bytes repeatedly, as fast as they are accepted.
 * @returns the number of written bytes
 */
export async function writeOften(
  { signal }: Assault,
  socket: Socket,
  { bytes, bytesMax }: { readonly bytes: Buffer; readonly bytesMax: number },
): Promise<number> {
  let written = 0
  while (!signal.aborted && !socket.destroyed && written < bytesMax) {
    written += bytes.length
    const isTaken = socket.write(bytes)
    if (isTaken) await new Promise((resolve) => setImmediate(resolve))
    else await drained(socket)
  }
  return written
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      socket.off('drain', end)
      socket.off('close', end)
      resolve()
    }
    socket.on('drain', end)
    socket.on('close', end)
  })
}

export interface Sent {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | string
}

/** The bytes of a keep-alive request. */
export function requestBytes({ method = 'GET', path, headers = {}, body }: Sent): Buffer {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const lines = Object.entries({ host: '127.0.0.1', ...headers, ...length })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const text = `${method} ${path} HTTP/1.1\r\n${head}\r\n`
  return Buffer.concat([Buffer.from(text), Buffer.from(body ?? '')])
}

export interface Hammering {
  readonly connections?: number
  readonly port?: number
}

/** Sends requests on many connections; each waits for the response before the next request. */
export async function hammer(
  assault: Assault,
  next: () => Buffer,
  { connections = CONNECTIONS, port }: Hammering = {},
): Promise<void> {
  const work = async (): Promise<void> => {
    while (!assault.signal.aborted) {
      const socket = await openSocket(assault, port)
      if (socket !== undefined) await converse(assault, socket, next)
      // Also after a refusal: a busy loop would only measure this process.
      await pause(assault, RECONNECT_MS)
    }
  }
  await Promise.all(Array.from({ length: connections }, work))
}

async function converse(assault: Assault, socket: Socket, next: () => Buffer): Promise<void> {
  const answers = new AnswerReader(socket)
  while (!assault.signal.aborted && !socket.destroyed) {
    socket.write(next())
    const status = await answers.next()
    if (status === undefined) return
    assault.count(String(status))
  }
}

/** Detects the ends of responses on a connection; discards bodies. */
export class AnswerReader {
  #waiting: ((status: number | undefined) => void) | undefined
  #head = ''
  #status = 0
  /** Remaining bytes of the body; undefined while the head is read. */
  #left: number | undefined
  /** The last bytes of a chunked body. */
  #tail = ''

  constructor(socket: Socket) {
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('close', () => this.#settle(undefined))
  }

  /** The status of the next response; undefined if the connection ended first. */
  next(): Promise<number | undefined> {
    return new Promise((resolve) => (this.#waiting = resolve))
  }

  #take(chunk: Buffer): void {
    if (this.#left !== undefined) return this.#takeBody(chunk)
    this.#head += chunk.toString('latin1')
    const end = this.#head.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = this.#head.slice(0, end)
    const rest = Buffer.from(this.#head.slice(end + 4), 'latin1')
    this.#head = ''
    this.#status = Number(head.slice(9, 12))
    const length = /\ncontent-length: *(\d+)/i.exec(head)?.[1]
    const isChunked = /\ntransfer-encoding: *chunked/i.test(head)
    this.#left = isChunked ? Infinity : Number(length ?? 0)
    this.#tail = ''
    this.#takeBody(rest)
  }

  #takeBody(chunk: Buffer): void {
    this.#left = (this.#left ?? 0) - chunk.length
    if (this.#left === Infinity) {
      this.#tail = (this.#tail + chunk.toString('latin1', Math.max(0, chunk.length - 7))).slice(-7)
      if (this.#tail.endsWith('0\r\n\r\n')) this.#left = 0
    }
    if (this.#left > 0) return
    this.#left = undefined
    this.#settle(this.#status)
  }

  #settle(status: number | undefined): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.(status)
  }
}

const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

/** Opens a WebSocket without reading frames; counts the status. */
export async function openWebSocket(
  assault: Assault,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Socket | undefined> {
  const socket = await openSocket(assault)
  if (socket === undefined) return undefined
  socket.write(requestBytes({ path, headers: { ...UPGRADE, ...headers } }))
  const status = await new Promise<number>((resolve) => {
    socket.once('data', (chunk: Buffer) => resolve(Number(chunk.toString('latin1', 9, 12))))
    socket.once('close', () => resolve(0))
  })
  assault.count(status === 0 ? 'no answer' : String(status))
  if (status === 101) return socket
  socket.destroy()
  return undefined
}

const TEXT = 1
export const PING = 9

/** A client frame. The mask is zero, so the payload is unchanged. */
export function frame(payload: Buffer | string, opcode = TEXT): Buffer {
  const body = Buffer.from(payload)
  const head = body.length < 126 ? Buffer.alloc(6) : Buffer.alloc(8)
  head[0] = 0x80 | opcode
  if (body.length < 126) head[1] = 0x80 | body.length
  else {
    head[1] = 0x80 | 126
    head.writeUInt16BE(body.length, 2)
  }
  return Buffer.concat([head, body])
}

/** As many copies as fit into 64 KiB: fewer writes for the same volume. */
export function repeated(bytes: Buffer): Buffer {
  const times = Math.max(1, Math.floor(65_536 / bytes.length))
  return Buffer.concat(Array.from({ length: times }, () => bytes))
}
