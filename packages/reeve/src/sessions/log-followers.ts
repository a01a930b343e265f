import { Readable, Transform, pipeline } from 'node:stream'
import type { StreamFrame } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { LogBacklog, type LogFeed, type LogSelection } from '@reeve/kit/log-feed.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import type { TenantSlots } from '@reeve/kit/tenant-slots.ts'
import { refusal, type Refusal } from '../model/index.ts'
import type { NodeGateway } from '../workload/index.ts'

interface LogFollower {
  readonly slots: TenantSlots
  readonly accessorId: string
  /** Has the stream closed when the server stops; returns a function to call at its end. */
  readonly trackStream: (close: () => void) => () => void
}

/** Follows the log of this server. Callers without a token share one limit. */
export function followLocalLog(
  feed: LogFeed,
  selection: LogSelection,
  { slots, accessorId, trackStream }: LogFollower,
): Result<Readable, Refusal> {
  if (slots.isFull(accessorId)) {
    const text =
      `this token already follows the log ${slots.perTenantMax} times ` +
      '(limit serverLogFollowersMax); close one of the streams'
    return err(refusal('too-many-streams', text))
  }
  slots.acquire(accessorId)
  const backlog = new LogBacklog(feed, selection)
  const untrack = trackStream(() => backlog.close())
  const push = (text: string | undefined): void => {
    if (!lines.destroyed) lines.push(text ?? null)
  }
  const lines = new Readable({
    read: () => void backlog.take().then(push),
    destroy: (error, done) => {
      backlog.close()
      untrack()
      slots.release(accessorId)
      done(error)
    },
  })
  return ok(lines)
}

/** Follows the log of a node. */
export async function followNodeLog(
  gateway: NodeGateway,
  nodeId: string,
  { selection, accessorId }: { readonly selection: LogSelection; readonly accessorId: string },
): Promise<Result<Readable, Refusal>> {
  const request = { verb: 'monitor', ...selection } as const
  const stream = await gateway.open(nodeId, { request, accessorId })
  return stream.ok ? ok(readableFromNode(stream.value)) : stream
}

const HEARTBEAT_MS = 1_000

/** Wraps chunks of a log in frames, and sends an empty frame as a heartbeat every second. */
export function withFrames(lines: Readable, clock: Clock): Readable {
  let cancel: () => void = () => undefined
  const frames = new Transform({
    transform(data: Buffer, _encoding, done) {
      const frame: StreamFrame = { Data: data.toString('base64') }
      done(null, JSON.stringify(frame))
    },
  })
  const sendHeartbeat = (): void => {
    // A slow reader needs no heartbeat: frames are pending.
    if (frames.readableLength === 0) frames.push('{}')
    cancel = clock.after(HEARTBEAT_MS, sendHeartbeat)
  }
  cancel = clock.after(HEARTBEAT_MS, sendHeartbeat)
  pipeline(lines, frames, () => cancel())
  return frames
}

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
