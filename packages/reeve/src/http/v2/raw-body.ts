import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { messageOf } from '../../kit/fault.ts'
import { err, ok, type Result } from '../../kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { isNotInflatable } from '../compression.ts'
import { HttpError } from '../http-error.ts'

/**
 * Lets the routes of `mount` have their bodies as they come. Nothing is read before the caller is
 * known and may send it, and then into one place: an upload is in memory once.
 */
export function withRawBodies(app: FastifyInstance, mount: (scope: FastifyInstance) => void): void {
  void app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, parsed) => parsed(null, payload))
    scope.addHook('onSend', async (request, reply) => {
      const { body } = request
      if (body instanceof Readable && !body.readableEnded) leaveUnread(request, reply)
    })
    mount(scope)
    done()
  })
}

/** What is read of a body that nobody wants: a few times the largest one that somebody does. */
const DISCARDED_BYTES_MAX = 64 * 1024 * 1024

/**
 * What nobody reads must not stand before the next request on the connection. A body that says its
 * length is read and forgotten: a caller that sends all of it before it looks for an answer would
 * find a broken connection instead of one. Any other ends the connection.
 */
export function leaveUnread({ raw, headers }: FastifyRequest, reply: FastifyReply): void {
  const isShort = Number(headers['content-length'] ?? NaN) <= DISCARDED_BYTES_MAX
  // What is compressed is being inflated, and that could go on for long.
  if (!isShort || headers['content-encoding'] !== undefined)
    return void reply.header('connection', 'close')
  void reply.removeHeader('connection')
  raw.resume()
}

export interface RawLimits {
  readonly bytesMax: number
  /** What the caller says of the length; NaN when it says nothing. */
  readonly bytesSaid: number
}

/** How much is set aside for a body of unknown length. */
const FIRST_BYTES = 64 * 1024

/** The whole body. What is said to be too long is refused unread, what is too long in mid-way. */
export async function readRawBody(
  payload: Readable,
  limits: RawLimits,
): Promise<Result<Uint8Array, GovernanceRefusal>> {
  try {
    return await collect(payload, limits)
  } catch (thrown) {
    // The shell tells what is wrong with a compressed body; all else is that the caller went.
    if (isNotInflatable(thrown)) throw thrown
    throw new HttpError(400, `The body ended early: ${messageOf(thrown)}`)
  }
}

async function collect(
  payload: Readable,
  { bytesMax, bytesSaid }: RawLimits,
): Promise<Result<Uint8Array, GovernanceRefusal>> {
  if (bytesSaid > bytesMax) return err({ code: 'too-large', bytesMax })
  let room = Buffer.allocUnsafe(bytesSaid >= 0 ? bytesSaid : Math.min(FIRST_BYTES, bytesMax))
  let length = 0
  // Whoever stops reading still answers: the request must not be destroyed by it.
  for await (const chunk of payload.iterator({ destroyOnReturn: false })) {
    // A request is a stream of bytes: nobody sets an encoding on it.
    const piece = chunk as Buffer
    if (length + piece.length > bytesMax) return err({ code: 'too-large', bytesMax })
    if (length + piece.length > room.length) {
      const larger = Math.min(Math.max(2 * room.length, length + piece.length), bytesMax)
      room = Buffer.concat([room.subarray(0, length)], larger)
    }
    length += piece.copy(room, length)
  }
  return ok(room.subarray(0, length))
}
