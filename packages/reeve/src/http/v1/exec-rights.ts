import type { Caller } from '../../acl/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import type { Authenticator, WorkloadContext } from '../../workload/index.ts'
import type { Closing } from './exec-closing.ts'

interface RightsWatch {
  readonly context: Pick<WorkloadContext, 'store' | 'aclEnabled'>
  readonly authenticator: Authenticator
  readonly clock: Clock
  readonly secret: string | undefined
  /** Why this caller may not go on; undefined when it may. */
  check(caller: Caller): Closing | undefined
  /** Called at most once. */
  lost(closing: Closing): void
}

/**
 * A session lasts for hours, and must not outlast the right to it: the right is checked again when
 * the token expires, and when a commit writes that token or a policy or role it may have. Event
 * streams do the same. Returns a function that ends the watch.
 */
export function watchRights(watch: RightsWatch): () => void {
  const { context, authenticator, clock, secret } = watch
  if (!context.aclEnabled) return () => undefined
  let cancel: () => void = () => undefined
  const look = (): void => {
    cancel()
    const caller = authenticator.authenticate(secret)
    if (!caller.ok) return watch.lost({ code: 1008, reason: caller.error.message })
    const refused = watch.check(caller.value)
    if (refused !== undefined) return watch.lost(refused)
    const { accessorId, expiresMs } = caller.value
    const token = { table: 'acl_tokens', key: accessorId }
    const targets = [token, { table: 'acl_policies' }, { table: 'acl_roles' }]
    const unwatch = context.store.watches.watch(targets, look)
    const leftMs = (expiresMs ?? Infinity) - clock.nowMs()
    const unwait = leftMs === Infinity ? () => undefined : clock.after(leftMs, look)
    cancel = () => {
      unwatch()
      unwait()
    }
  }
  look()
  return () => cancel()
}
