import { STREAM_CHUNK_BYTES_MAX, type FileEvent, type StreamFrame } from '@reeve/contract'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'

/** Where the bytes of a file go. Each call settles when there is room for more. */
export interface ByteSink {
  data(bytes: Buffer, place: FilePlace): Promise<void>
  event(event: FileEvent, place: FilePlace): Promise<void>
  /** A sign of life while nothing else is said. */
  idle(): Promise<void>
}

export interface FilePlace {
  readonly file: string
  /** In the file, after the data. */
  readonly offset: number
}

/** Bytes that one read may bring. */
export const CHUNK_BYTES = STREAM_CHUNK_BYTES_MAX

/** Nothing but the bytes. */
export function plainSink(stream: StreamSocket): ByteSink {
  return {
    data: (bytes) => {
      stream.send(bytes)
      return stream.drained()
    },
    event: () => Promise.resolve(),
    idle: () => Promise.resolve(),
  }
}

/** JSON objects one after the other, empty members left out. */
export function framedSink(stream: StreamSocket): ByteSink {
  const send = (frame: StreamFrame): Promise<void> => {
    // A binary message: bytes of the body, like those of a plain stream.
    stream.send(JSON.stringify(frame), false)
    return stream.drained()
  }
  return {
    data: (bytes, { file, offset }) =>
      send({ Offset: offset, Data: bytes.toString('base64'), File: file }),
    event: (event, { file, offset }) =>
      send({ ...(offset > 0 ? { Offset: offset } : {}), File: file, FileEvent: event }),
    idle: () => send({}),
  }
}
