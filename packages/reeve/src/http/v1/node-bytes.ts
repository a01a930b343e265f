import { Readable } from 'node:stream'
import { Fault } from '@reeve/kit/fault.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'

/** Returns a node's stream as a Readable, with backpressure. */
export function readableFromNode(stream: StreamSocket): Readable {
  const readable = new Readable({
    read: () => stream.resume(),
    destroy: (error, done) => {
      stream.close(1001, 'the caller has gone')
      done(error)
    },
  })
  stream.onClose((code) => {
    if (code === 1000) readable.push(null)
    // An incomplete file must not seem complete.
    else readable.destroy(new Fault('node-stream', 'the connection to the node was lost'))
  })
  stream.onMessage((data) => {
    if (!readable.push(data)) stream.pause()
  })
  return readable
}
