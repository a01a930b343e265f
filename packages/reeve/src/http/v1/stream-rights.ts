import type { Readable } from 'node:stream'
import type { Caller } from '../../acl/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { PERMISSION_DENIED } from '../../model/index.ts'
import type { Authenticator, WorkloadContext } from '../../workload/index.ts'
import { closingOf } from './exec-closing.ts'
import { watchRights } from './exec-rights.ts'

/** Who reads a log or a file, and whether the caller may. */
export interface StreamReader {
  readonly context: WorkloadContext
  readonly authenticator: Authenticator
  readonly secret: string | undefined
  readonly allows: (grants: Caller['grants']) => boolean
}

/**
 * Output is followed for as long as a session lasts, and must not outlast the right to it either.
 * It breaks off, so that nobody takes it for the whole.
 */
export function whileAllowed(stream: Readable, reader: StreamReader): Readable {
  const { context, authenticator, secret, allows } = reader
  // The right may be gone before anybody listens to the stream.
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
