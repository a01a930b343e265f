import { Readable } from 'node:stream'
import { Fault } from '@reeve/kit/fault.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'

/** The bytes that a node sends on a stream. Read no faster than they are taken. */
export function nodeBytes(stream: StreamSocket): Readable {
  const readable = new Readable({
    read: () => stream.resume(),
    destroy: (error, done) => {
      stream.close(1001, 'the caller has gone')
      done(error)
    },
  })
  stream.onClose((code) => {
    if (code === 1000) readable.push(null)
    // The caller must not take half of a file for the whole.
    else readable.destroy(new Fault('node-stream', 'the connection to the node was lost'))
  })
  stream.onMessage((data) => {
    if (!readable.push(data)) stream.pause()
  })
  return readable
}
