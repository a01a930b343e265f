import { Fault } from '@reeve/kit/fault.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'

/** What comes on a stream, read no faster than it is taken. A Fault when it breaks off. */
export async function* streamBytes(stream: StreamSocket): AsyncGenerator<Uint8Array> {
  const waiting: Uint8Array[] = []
  let end: number | undefined
  let wake: () => void = () => undefined
  stream.onClose((code) => {
    end = code
    wake()
  })
  stream.onMessage((data) => {
    waiting.push(data)
    stream.pause()
    wake()
  })
  for (;;) {
    const next = waiting.shift()
    if (next !== undefined) yield next
    else if (end !== undefined) break
    else {
      const { promise, resolve } = Promise.withResolvers<void>()
      wake = resolve
      stream.resume()
      await promise
    }
  }
  if (end !== 1000) throw new Fault('task-data', 'the stream from the other node broke off')
}
