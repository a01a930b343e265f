import type { StreamFrame } from '@reeve/contract'
import type { Call, Connection } from '../call/connection.ts'
import { disconnectedError, silenceError, invalidResponseError } from '../call/errors.ts'
import { LIMITS } from '../limits.ts'
import { openRoute } from '../call/send.ts'
import { bytesFromBase64, readChunks } from '../bytes.ts'
import type { Timing } from '../timing.ts'

/**
 * Yields the JSON objects of an endless body. The connection counts as lost without heartbeats.
 * Only time spent waiting counts, because nothing is read while the consumer is busy.
 */
export async function* jsonObjects(
  connection: Connection,
  { route, request }: Call,
  splitter: Splitter,
): AsyncGenerator<object> {
  const silence = new AbortController()
  const signals = request.signal === undefined ? [] : [request.signal]
  const signal = AbortSignal.any([silence.signal, ...signals])
  const { data } = await openRoute(connection, { route, request: { ...request, signal } })
  const onSilence = () => silence.abort(silenceError(connection, LIMITS.streamSilenceMsMax))
  const chunks = withSilenceTimeout(readChunks(data), connection.timing, onSilence)
  try {
    for await (const chunk of chunks)
      for (const text of splitter.push(chunk)) yield parseObject(text)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof SplitError) throw invalidResponseError(connection, error.message, error)
    throw disconnectedError(connection, error)
  }
  if (!splitter.isComplete) throw disconnectedError(connection)
}

function parseObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch (error) {
    throw new SplitError('a line that is not JSON', { cause: error })
  }
  throw new SplitError('a line that is not a JSON object')
}

/** Passes chunks through; calls `onSilence` if one takes too long. */
async function* withSilenceTimeout(
  chunks: AsyncGenerator<Uint8Array>,
  timing: Timing,
  onSilence: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const cancel = timing.after(LIMITS.streamSilenceMsMax, onSilence)
      const { value, done } = await chunks.next().finally(cancel)
      if (done === true) return
      yield value
    }
  } finally {
    await chunks.return(undefined)
  }
}

/**
 * Splits a body into texts. Chunks may end anywhere, even inside a character. The length of a text
 * is limited, because an endless one would exhaust memory.
 */
export interface Splitter {
  /** Returns the texts that this chunk completes. */
  push(chunk: Uint8Array): readonly string[]
  /** False if the body was cut inside a text. */
  readonly isComplete: boolean
}

/** The body is invalid: not UTF-8, too long, or not JSON. */
export class SplitError extends Error {
  override readonly name = 'SplitError'
}

/** Splits a body of one JSON object per line. */
export function splitLines(charsMax: number): Splitter {
  const decode = utf8Decoder()
  let incomplete = ''
  return {
    push(chunk) {
      const [first = '', ...others] = decode(chunk).split('\n')
      const lines = [incomplete + first, ...others]
      incomplete = lines.pop() ?? ''
      if (incomplete.length > charsMax) throw new SplitError('a line that does not end')
      return lines.filter((line) => line.trim() !== '')
    },
    get isComplete() {
      return incomplete.trim() === ''
    },
  }
}

/** Splits a body of JSON objects without separators. */
export function splitObjects(charsMax: number): Splitter {
  const decode = utf8Decoder()
  const scan = objectScanner()
  let incomplete = ''
  return {
    push(chunk) {
      const text = decode(chunk)
      const objects: string[] = []
      let start = 0
      for (let index = 0; index < text.length; index++) {
        if (!scan.ends(text.charCodeAt(index))) continue
        objects.push(incomplete + text.slice(start, index + 1))
        incomplete = ''
        start = index + 1
      }
      incomplete += text.slice(start)
      if (incomplete.length > charsMax) throw new SplitError('a frame that does not end')
      return objects
    },
    get isComplete() {
      return incomplete.trim() === ''
    },
  }
}

const CHAR_CODES = { quote: 0x22, backslash: 0x5c, open: 0x7b, close: 0x7d, space: 0x20 }

/** Tracks braces and strings; the JSON parser validates the rest. */
function objectScanner(): { ends(unit: number): boolean } {
  let depth = 0
  let isText = false
  let isEscaped = false
  function endsText(unit: number): boolean {
    if (isEscaped) isEscaped = false
    else if (unit === CHAR_CODES.backslash) isEscaped = true
    else return unit === CHAR_CODES.quote
    return false
  }
  return {
    ends(unit) {
      if (isText) {
        isText = !endsText(unit)
        return false
      }
      if (depth === 0 && unit > CHAR_CODES.space && unit !== CHAR_CODES.open) {
        throw new SplitError('something between the frames')
      }
      isText = unit === CHAR_CODES.quote
      if (unit === CHAR_CODES.open) depth += 1
      if (unit === CHAR_CODES.close) depth -= 1
      return unit === CHAR_CODES.close && depth === 0
    },
  }
}

function utf8Decoder(): (chunk: Uint8Array) => string {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  return (chunk) => {
    try {
      return decoder.decode(chunk, { stream: true })
    } catch (error) {
      throw new SplitError('bytes that are not text', { cause: error })
    }
  }
}

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
