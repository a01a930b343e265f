import type { Call, Connection } from '../call/connection.ts'
import { disconnectedError, silenceError, invalidResponseError } from '../call/failures.ts'
import { LIMITS } from '../limits.ts'
import { openRoute } from '../call/read-answer.ts'
import { SplitError, type Splitter } from './splitters.ts'
import { readChunks } from './chunks.ts'
import type { Timing } from '../timing.ts'

/**
 * Yields the JSON objects of an endless body. The connection counts as lost without heartbeats. Only
 * time spent waiting counts, because nothing is read while the consumer is busy.
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
