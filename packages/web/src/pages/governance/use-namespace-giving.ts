import { attachNamespaceDisabledReason } from '../../actions/governance-can.ts'
import type { DisabledReason } from '../../actions/verdict.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { useSession } from '../../session/session.tsx'

/** Returns why the caller cannot attach namespaces to projects and policy sets. */
export function useAttachNamespaceDisabledReason(): DisabledReason {
  const { identity } = useSession()
  const account = useApiQuery(['account'], (api, signal) => api.v2.readAccount({ signal }))
  return attachNamespaceDisabledReason({
    isAclEnabled: identity?.isAclEnabled,
    isSiteAdministrator: account.data?.data.attributes['is-admin'],
  })
}
