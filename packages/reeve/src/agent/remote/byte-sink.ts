import { STREAM_CHUNK_BYTES_MAX, type FileEvent, type StreamFrame } from '@reeve/contract'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'

/** Destination for the bytes of a file. Each call resolves when more can be sent. */
export interface FileSink {
  sendData(bytes: Buffer, place: FilePosition): Promise<void>
  sendEvent(event: FileEvent, place: FilePosition): Promise<void>
  /** Sends a heartbeat while there is no data. */
  sendHeartbeat(): Promise<void>
}

export interface FilePosition {
  readonly file: string
  /** Offset in the file after the data. */
  readonly offset: number
}

/** Maximum bytes of one read. */
export const CHUNK_BYTES_MAX = STREAM_CHUNK_BYTES_MAX

/** Sends the raw bytes. */
export function newRawSink(stream: StreamSocket): FileSink {
  return {
    sendData: (bytes) => {
      stream.send(bytes)
      return stream.drained()
    },
    sendEvent: () => Promise.resolve(),
    sendHeartbeat: () => Promise.resolve(),
  }
}

/** Sends JSON frames; empty members are omitted. */
export function newJsonSink(stream: StreamSocket): FileSink {
  const send = (frame: StreamFrame): Promise<void> => {
    // Sent as a binary message, like the bytes of a raw stream.
    stream.send(JSON.stringify(frame), false)
    return stream.drained()
  }
  return {
    sendData: (bytes, { file, offset }) =>
      send({ Offset: offset, Data: bytes.toString('base64'), File: file }),
    sendEvent: (event, { file, offset }) =>
      send({ ...(offset > 0 ? { Offset: offset } : {}), File: file, FileEvent: event }),
    sendHeartbeat: () => send({}),
  }
}
