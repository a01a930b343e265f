import type { Caller } from '../../acl/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import type { Authenticator, WorkloadContext } from '../../workload/index.ts'
import type { CloseFrame } from './exec-closing.ts'

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
    if (!caller.ok) return watch.onRevoked({ code: 1008, reason: caller.error.message })
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
