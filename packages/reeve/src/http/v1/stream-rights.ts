import type { Readable } from 'node:stream'
import type { Caller } from '../../acl/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { PERMISSION_DENIED } from '../../model/index.ts'
import type { Authenticator, WorkloadContext } from '../../workload/index.ts'
import { closingOf } from './exec-closing.ts'
import { watchRights } from './exec-rights.ts'

/** The reader of a stream, and the permission that it needs. */
export interface StreamReader {
  readonly context: WorkloadContext
  readonly authenticator: Authenticator
  readonly secret: string | undefined
  readonly allows: (grants: Caller['grants']) => boolean
}

/**
 * Ends a stream with an error when its token expires or loses the permission, so that partial
 * output is not mistaken for the whole.
 */
export function whileAllowed(stream: Readable, reader: StreamReader): Readable {
  const { context, authenticator, secret, allows } = reader
  // The permission may be lost before the stream has a listener.
  stream.on('error', () => undefined)
  const end = watchRights({
    context,
    authenticator,
    clock: context.clock,
    secret,
    check: ({ grants }) => (allows(grants) ? undefined : closingOf(PERMISSION_DENIED)),
    lost: ({ reason }) => stream.destroy(new Fault('rights-lost', reason)),
  })
  stream.once('close', end)
  return stream
}
