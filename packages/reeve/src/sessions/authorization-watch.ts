import type { Readable } from 'node:stream'
import type { Caller } from '../acl/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { PERMISSION_DENIED } from '../model/index.ts'
import type { Authenticator, WorkloadContext } from '../workload/index.ts'

/** Close code and reason of a channel. */
export interface CloseFrame {
  readonly code: number
  readonly reason: string
  /** HTTP status of the same error; undefined for an invalid request. */
  readonly status?: number
}

/** Close code of WebSockets for a peer without permission. */
const POLICY_VIOLATION = 1008

interface AuthorizationWatch {
  readonly context: Pick<WorkloadContext, 'store' | 'aclEnabled'>
  readonly authenticator: Authenticator
  readonly clock: Clock
  readonly secret: string | undefined
  /** Returns the close frame if the caller is no longer authorized; undefined if it is. */
  authorize(caller: Caller): CloseFrame | undefined
  /** Called at most once. */
  onRevoked(closing: CloseFrame): void
}

/**
 * Ends long sessions when their permission ends: authorization is checked again when the token
 * expires, and when a commit writes that token, a policy or a role. Event streams do the same.
 * Returns a function that ends the watch.
 */
export function watchAuthorization(watch: AuthorizationWatch): () => void {
  const { context, authenticator, clock, secret } = watch
  if (!context.aclEnabled) return () => undefined
  let cancel: () => void = () => undefined
  const recheck = (): void => {
    cancel()
    const caller = authenticator.authenticate(secret)
    if (!caller.ok) return watch.onRevoked({ code: POLICY_VIOLATION, reason: caller.error.message })
    const closeFrame = watch.authorize(caller.value)
    if (closeFrame !== undefined) return watch.onRevoked(closeFrame)
    const { accessorId, expiresMs } = caller.value
    const token = { table: 'acl_tokens', key: accessorId }
    const targets = [token, { table: 'acl_policies' }, { table: 'acl_roles' }]
    const unwatch = context.store.watches.watch(targets, recheck)
    const remainingMs = (expiresMs ?? Infinity) - clock.nowMs()
    const cancelTimer =
      remainingMs === Infinity ? () => undefined : clock.after(remainingMs, recheck)
    cancel = () => {
      unwatch()
      cancelTimer()
    }
  }
  recheck()
  return () => cancel()
}

/** The reader of a stream, and the permission that it needs. */
interface StreamAuthorization {
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
    authorize: ({ grants }) =>
      isAllowed(grants) ? undefined : { code: POLICY_VIOLATION, reason: PERMISSION_DENIED.message },
    onRevoked: ({ reason }) => stream.destroy(new Fault('rights-lost', reason)),
  })
  stream.once('close', endWatch)
  return stream
}
