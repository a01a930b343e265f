import type { Call, Connection } from '../call/connection.ts'
import { cutError, silentError, unreadableError } from '../call/failures.ts'
import { LIMITS } from '../limits.ts'
import { openRoute } from '../call/read-answer.ts'
import { SplitError, type Splitter } from './splitters.ts'
import { chunksOf } from './chunks.ts'
import type { Timing } from '../timing.ts'

/**
 * The JSON objects of an endless body. It is taken for lost when even heartbeats stay away; while
 * the consumer is busy nothing is expected, so only the time of waiting counts.
 */
export async function* jsonObjects(
  connection: Connection,
  { route, request }: Call,
  splitter: Splitter,
): AsyncGenerator<object> {
  const lost = new AbortController()
  const signals = request.signal === undefined ? [] : [request.signal]
  const signal = AbortSignal.any([lost.signal, ...signals])
  const { data } = await openRoute(connection, { route, request: { ...request, signal } })
  const isSilent = () => lost.abort(silentError(connection, LIMITS.streamSilenceMsMax))
  const chunks = impatient(chunksOf(data), connection.timing, isSilent)
  try {
    for await (const chunk of chunks) for (const text of splitter.push(chunk)) yield parse(text)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof SplitError) throw unreadableError(connection, error.message, error)
    throw cutError(connection, error)
  }
  if (!splitter.isBetween) throw cutError(connection)
}

function parse(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch (error) {
    throw new SplitError('a line that is not JSON', { cause: error })
  }
  throw new SplitError('a line that is not a JSON object')
}

/** The same chunks; calls `isSilent` when one is awaited for too long. */
async function* impatient(
  chunks: AsyncGenerator<Uint8Array>,
  timing: Timing,
  isSilent: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const cancel = timing.after(LIMITS.streamSilenceMsMax, isSilent)
      const { value, done } = await chunks.next().finally(cancel)
      if (done === true) return
      yield value
    }
  } finally {
    await chunks.return(undefined)
  }
}
