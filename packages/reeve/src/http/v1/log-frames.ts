import type { NodeStreamRequest } from '@reeve/contract'

/** Position in a log: the number of one of its files and a byte offset in it. */
export type LogOffset = NonNullable<Extract<NodeStreamRequest, { verb: 'logs' }>['resume']>

/** A chunk of a log, from one message of a node. */
interface LogChunk {
  readonly bytes: Buffer
  /** Position after the chunk; undefined if the message has none. */
  readonly offset: LogOffset | undefined
}

/**
 * Decodes a log frame of a node; undefined if it is invalid. Nodes are not trusted: only the bytes
 * and two numbers are used.
 */
export function decodeLogFrame(data: Uint8Array): LogChunk | undefined {
  let frame: unknown
  try {
    frame = JSON.parse(Buffer.from(data).toString('utf8'))
  } catch {
    // Invalid JSON is not a frame.
    return undefined
  }
  if (typeof frame !== 'object' || frame === null) return undefined
  const text: unknown = Reflect.get(frame, 'Data') ?? ''
  const file: unknown = Reflect.get(frame, 'File') ?? ''
  const offset: unknown = Reflect.get(frame, 'Offset') ?? 0
  if (typeof text !== 'string' || typeof file !== 'string' || typeof offset !== 'number')
    return undefined
  const number = /\.(\d{1,15})$/.exec(file)?.[1]
  const hasOffset = number !== undefined && Number.isSafeInteger(offset) && offset >= 0
  return {
    bytes: Buffer.from(text, 'base64'),
    offset: hasOffset ? { file: Number(number), offset } : undefined,
  }
}
