import type { WebSocket } from 'ws'
import type { Clock } from '../../kit/clock.ts'
import { StreamBuffers, StreamSocket } from '../../kit/stream-socket.ts'
import { LIMITS } from '../../model/index.ts'

/** Shared by every stream of this process: it is its memory that is bounded. */
const buffers = new StreamBuffers(LIMITS.nodeStreamBuffers)

/** A connection as a stream that waits for slow readers. */
export function streamSocket(webSocket: WebSocket, clock: Clock): StreamSocket {
  const stream = new StreamSocket(webSocket, clock, {
    buffers,
    pingMs: LIMITS.nodeStreamPingMs,
    silentMsMax: LIMITS.nodeStreamSilentMsMax,
  })
  // With the default binaryType a message is one Buffer.
  webSocket.on('message', (data, isBinary) => stream.received(data as Buffer, !isBinary))
  webSocket.on('ping', () => stream.heard())
  webSocket.on('pong', () => stream.heard())
  webSocket.on('close', (code, reason) => stream.closed(code, reason.toString('utf8')))
  // 'close' follows; an unheard 'error' event would end the process.
  webSocket.on('error', () => undefined)
  return stream
}
