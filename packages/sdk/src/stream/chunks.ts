/**
 * The chunks of a stream. Leaving the loop cancels the stream, which closes the connection. Not
 * every browser can iterate a stream by itself.
 */
export async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  let isOver = false
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) {
        isOver = true
        return
      }
      yield value
    }
  } finally {
    // A stream that failed rejects its cancellation too; the loop has thrown that error already.
    if (!isOver) await reader.cancel().catch(() => undefined)
  }
}
