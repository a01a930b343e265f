import type { Readable } from 'node:stream'
import type { Caller } from '../../acl/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { PERMISSION_DENIED } from '../../model/index.ts'
import type { Authenticator, WorkloadContext } from '../../workload/index.ts'
import { closeFrameFor } from './exec-closing.ts'
import { watchAuthorization } from './exec-rights.ts'

/** The reader of a stream, and the permission that it needs. */
export interface StreamAuthorization {
  readonly context: WorkloadContext
  readonly authenticator: Authenticator
  readonly secret: string | undefined
  readonly isAllowed: (grants: Caller['grants']) => boolean
}

/**
 * Ends a stream with an error when its token expires or loses the permission, so that partial
 * output is not mistaken for the whole.
 */
export function closeOnRevoke(stream: Readable, reader: StreamAuthorization): Readable {
  const { context, authenticator, secret, isAllowed } = reader
  // The permission may be lost before the stream has a listener.
  stream.on('error', () => undefined)
  const endWatch = watchAuthorization({
    context,
    authenticator,
    clock: context.clock,
    secret,
    authorize: ({ grants }) => (isAllowed(grants) ? undefined : closeFrameFor(PERMISSION_DENIED)),
    onRevoked: ({ reason }) => stream.destroy(new Fault('rights-lost', reason)),
  })
  stream.once('close', endWatch)
  return stream
}
