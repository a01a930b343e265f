import { Fault } from '@reeve/kit/fault.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'

/** Reads a stream with backpressure. Throws a Fault if it breaks off. */
export async function* readStream(stream: StreamSocket): AsyncGenerator<Uint8Array> {
  const received: Uint8Array[] = []
  let closeCode: number | undefined
  let wake: () => void = () => undefined
  stream.onClose((code) => {
    closeCode = code
    wake()
  })
  stream.onMessage((data) => {
    received.push(data)
    stream.pause()
    wake()
  })
  for (;;) {
    const chunk = received.shift()
    if (chunk !== undefined) yield chunk
    else if (closeCode !== undefined) break
    else {
      const { promise, resolve } = Promise.withResolvers<void>()
      wake = resolve
      stream.resume()
      await promise
    }
  }
  if (closeCode !== 1000) throw new Fault('task-data', 'the stream from the other node broke off')
}
