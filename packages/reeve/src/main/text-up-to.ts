/**
 * Returns the first `charsMax` characters of UTF-8 and stops reading there. Of an interrupted
 * stream it returns the part that was received.
 */
export async function readTextUpTo(
  chunks: AsyncIterable<Uint8Array>,
  charsMax: number,
): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of chunks) {
      text += decoder.decode(chunk, { stream: true })
      if (text.length >= charsMax) break
    }
  } catch {
    // Callers have the status of the response; an interrupted body adds nothing to it.
  }
  return text.slice(0, charsMax)
}
