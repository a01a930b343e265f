import type { NodeStreamRequest } from '@reeve/contract'

/** How far a log was read: the number of one of its files, and a byte of it. */
export type LogPlace = NonNullable<Extract<NodeStreamRequest, { verb: 'logs' }>['resume']>

/** The part of a log that one message of a node carries. */
interface LogPart {
  readonly bytes: Buffer
  /** After the bytes; undefined when the message tells none. */
  readonly place: LogPlace | undefined
}

/**
 * Reads one log frame as a node sends it; undefined when it is none. Nodes are not trusted: only
 * bytes and two numbers are kept.
 */
export function readLogFrame(data: Uint8Array): LogPart | undefined {
  let frame: unknown
  try {
    frame = JSON.parse(Buffer.from(data).toString('utf8'))
  } catch {
    // No JSON is no frame.
    return undefined
  }
  if (typeof frame !== 'object' || frame === null) return undefined
  const text: unknown = Reflect.get(frame, 'Data') ?? ''
  const file: unknown = Reflect.get(frame, 'File') ?? ''
  const offset: unknown = Reflect.get(frame, 'Offset') ?? 0
  if (typeof text !== 'string' || typeof file !== 'string' || typeof offset !== 'number')
    return undefined
  const number = /\.(\d{1,15})$/.exec(file)?.[1]
  const isPlace = number !== undefined && Number.isSafeInteger(offset) && offset >= 0
  return {
    bytes: Buffer.from(text, 'base64'),
    place: isPlace ? { file: Number(number), offset } : undefined,
  }
}
