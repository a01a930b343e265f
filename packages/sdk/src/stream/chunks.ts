/**
 * Yields the chunks of a stream. Leaving the loop cancels the stream and closes the connection. Not
 * all browsers support iterating a stream.
 */
export async function* readChunks(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
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
    // Cancelling a failed stream rejects too; the loop has already thrown that error.
    if (!isOver) await reader.cancel().catch(() => undefined)
  }
}
