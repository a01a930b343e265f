import type { StreamFrame } from '@reeve/contract'
import { bytesFromBase64 } from '../base64.ts'
import type { Call, Connection } from '../call/connection.ts'
import { unreadableError } from '../call/failures.ts'
import { jsonObjects } from './json-stream.ts'
import { LIMITS } from '../limits.ts'
import { splitObjects } from './splitters.ts'

/** A piece of a file or log, with its data as bytes. */
export type ByteFrame = StreamFrame & { readonly bytes: Uint8Array }

/** The frames of a followed file; heartbeats are left out. */
export async function* followFrames(connection: Connection, call: Call): AsyncGenerator<ByteFrame> {
  const splitter = splitObjects(LIMITS.frameCharsMax)
  for await (const value of jsonObjects(connection, call, splitter)) {
    // Frames are made by the contract that this package is made from.
    const frame = value as StreamFrame
    const { Data, FileEvent } = frame
    const bytes = bytesFromBase64(Data ?? '')
    if (bytes === undefined) throw unreadableError(connection, 'a frame whose data is not base64')
    if (bytes.length > 0 || FileEvent !== undefined) yield { ...frame, bytes }
  }
}
