import type { StreamFrame } from '@reeve/contract'
import { bytesFromBase64 } from '../base64.ts'
import type { Call, Connection } from '../call/connection.ts'
import { invalidResponseError } from '../call/failures.ts'
import { jsonObjects } from './json-stream.ts'
import { LIMITS } from '../limits.ts'
import { splitObjects } from './splitters.ts'

/** A frame of a file or log, with decoded data. */
export type ByteFrame = StreamFrame & { readonly bytes: Uint8Array }

/** Yields the frames of a followed file, without heartbeats. */
export async function* followFrames(connection: Connection, call: Call): AsyncGenerator<ByteFrame> {
  const splitter = splitObjects(LIMITS.frameCharsMax)
  for await (const value of jsonObjects(connection, call, splitter)) {
    // The server serializes frames by the same contract.
    const frame = value as StreamFrame
    const { Data, FileEvent } = frame
    const bytes = bytesFromBase64(Data ?? '')
    if (bytes === undefined)
      throw invalidResponseError(connection, 'a frame whose data is not base64')
    if (bytes.length > 0 || FileEvent !== undefined) yield { ...frame, bytes }
  }
}
