/** Connections that are slow, idle, never read, or send endlessly. */
import type { Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import {
  openSocket,
  openSockets,
  pause,
  repeated,
  requestBytes,
  untilOver,
  writeOften,
} from '../attack-connection.ts'
import { direct, type Assault, type Attack } from '../attack.ts'

const MEGABYTE = 1024 * 1024
const SLOW_CONNECTIONS = 2_000
const IDLE_CONNECTIONS = 5_000
const TRICKLE_MS = 1_000
const PIPELINED = 'GET / HTTP/1.1\r\nHost:\r\n\r\n'
const PIPELINED_BYTES = 2_500_000
const PIPELINE_MS = 3_000
/** 500 bodies of 3 MiB took 1.5 GB of a server that buffered all of them. */
const STALLED_BODIES = 500
const ENDLESS_BODIES = 32
const ENDLESS_BYTES_MAX = 64 * MEGABYTE
/** Per connection; two of them took 2.2 GB of a server that stored each chunk. */
const TINY_CHUNK_BYTES_MAX = 24_000_000
const TINY_CHUNKS_ANONYMOUS = 2
const TINY_CHUNKS = 8

export const connectionAttacks: readonly Attack[] = [
  direct(
    {
      name: 'pipelining',
      summary: '2.5 MB of pipelined requests on one connection, never read, again every 3 s',
      isAnonymous: true,
    },
    async (assault) => {
      const bytes = repeated(Buffer.from(PIPELINED))
      while (!assault.signal.aborted) {
        const socket = await openSocket(assault)
        if (socket !== undefined) {
          socket.pause()
          void writeOften(assault, socket, { bytes, bytesMax: PIPELINED_BYTES })
        }
        await pause(assault, PIPELINE_MS)
        socket?.destroy()
      }
    },
  ),
  direct(
    {
      name: 'slow-headers',
      summary: '2,000 connections that send one header each second',
      isAnonymous: true,
    },
    async (assault) => {
      const sockets = await openSockets(assault, SLOW_CONNECTIONS)
      for (const socket of sockets) {
        readOnce(assault, socket)
        socket.write('GET /v1/jobs HTTP/1.1\r\nhost: 127.0.0.1\r\n')
      }
      for (let at = 0; !assault.signal.aborted; at++) {
        for (const socket of sockets) if (socket.writable) socket.write(`x-${at}: slow\r\n`)
        await pause(assault, TRICKLE_MS)
      }
    },
  ),
  direct(
    { name: 'half-requests', summary: '2,000 half-sent requests', isAnonymous: true },
    async (assault) => {
      const whole = requestBytes({ method: 'POST', path: '/v1/jobs', body: 'x'.repeat(2_000) })
      for (const socket of await openSockets(assault, SLOW_CONNECTIONS)) {
        readOnce(assault, socket)
        socket.write(whole.subarray(0, whole.length / 2))
      }
      await untilOver(assault)
    },
  ),
  direct(
    {
      name: 'stalled-bodies',
      summary: '500 bodies that stop at 3 of 4 MB',
      isAnonymous: true,
    },
    async (assault) => {
      const body = Buffer.alloc(4 * MEGABYTE - 1, ' ')
      const whole = requestBytes({ method: 'POST', path: '/v1/jobs', body })
      const part = whole.subarray(0, whole.length - MEGABYTE)
      for (const socket of await openSockets(assault, STALLED_BODIES)) {
        readOnce(assault, socket)
        socket.write(part)
        await turn()
      }
      await untilOver(assault)
    },
  ),
  direct(
    {
      name: 'endless-bodies',
      summary: '32 endless bodies in chunks of 64 KiB, up to 64 MiB each',
      isAnonymous: true,
    },
    async (assault) => {
      const chunk = chunkOf(Buffer.alloc(65_536, ' '))
      await sendChunks(assault, { connections: ENDLESS_BODIES, chunk, bytesMax: ENDLESS_BYTES_MAX })
    },
  ),
  direct(
    {
      name: 'chunks-anonymous',
      summary: 'one-byte chunks without a token, 2 connections',
      isAnonymous: true,
    },
    async (assault) => {
      const chunk = repeated(chunkOf(Buffer.from(' ')))
      const connections = TINY_CHUNKS_ANONYMOUS
      await sendChunks(assault, { connections, chunk, bytesMax: TINY_CHUNK_BYTES_MAX })
    },
  ),
  direct({ name: 'chunks', summary: 'one-byte chunks, 8 connections' }, async (assault) => {
    const chunk = repeated(chunkOf(Buffer.from(' ')))
    const token = assault.target.token
    await sendChunks(assault, {
      connections: TINY_CHUNKS,
      chunk,
      bytesMax: TINY_CHUNK_BYTES_MAX,
      token,
    })
  }),
  direct(
    { name: 'idle', summary: '5,000 connections that send nothing', isAnonymous: true },
    async (assault) => {
      for (const socket of await openSockets(assault, IDLE_CONNECTIONS)) readOnce(assault, socket)
      await untilOver(assault)
    },
  ),
]

/** Counts the first response. */
function readOnce(assault: Assault, socket: Socket): void {
  socket.once('data', (chunk: Buffer) => assault.count(chunk.toString('latin1', 9, 12)))
}

function chunkOf(body: Buffer): Buffer {
  const size = `${body.length.toString(16)}\r\n`
  return Buffer.concat([Buffer.from(size), body, Buffer.from('\r\n')])
}

interface Chunks {
  readonly connections: number
  readonly chunk: Buffer
  /** Per connection. */
  readonly bytesMax: number
  readonly token?: string
}

/** Endless bodies. A connection closed by the server is reopened. */
async function sendChunks(assault: Assault, chunks: Chunks): Promise<void> {
  const { connections, chunk, bytesMax, token } = chunks
  const headers = {
    'content-type': 'application/json',
    'transfer-encoding': 'chunked',
    ...(token === undefined ? {} : { 'x-service-token': token }),
  }
  const path = `/v1/jobs?namespace=${assault.target.namespace}`
  const head = requestBytes({ method: 'POST', path, headers })
  const work = async (): Promise<void> => {
    for (let left = bytesMax; left > 0 && !assault.signal.aborted;) {
      const socket = await openSocket(assault)
      if (socket !== undefined) {
        readOnce(assault, socket)
        socket.write(head)
        left -= await writeOften(assault, socket, { bytes: chunk, bytesMax: left })
      }
      await pause(assault, RECONNECT_MS)
    }
  }
  await Promise.all(Array.from({ length: connections }, work))
  // Open connections stay open until the time is up.
  await untilOver(assault)
}

const RECONNECT_MS = 50
