import { once } from 'node:events'
import { request as ask, type IncomingMessage } from 'node:http'
import { setImmediate } from 'node:timers/promises'

const PIECE_BYTES = 65_536

/**
 * Sends a body of this length piece by piece and to its end, whatever is said meanwhile; gives the
 * status of the answer. Rejects when the connection ends before all was sent.
 */
export async function postInPieces(url: string, bytes: number): Promise<number | undefined> {
  const asked = ask(url, { method: 'POST' })
  // Node's documentation: this event has one argument, the answer.
  const answered = once(asked, 'response') as Promise<[IncomingMessage]>
  const piece = Buffer.alloc(PIECE_BYTES, 'a')
  for (let sent = 0; sent < bytes; sent += PIECE_BYTES) {
    asked.write(piece)
    await setImmediate()
  }
  asked.end()
  const [answer] = await answered
  await once(answer.resume(), 'close')
  return answer.statusCode
}
