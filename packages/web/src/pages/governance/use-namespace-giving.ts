import { mayGiveNamespaces } from '../../actions/governance-can.ts'
import type { Verdict } from '../../actions/verdict.ts'
import { useRead } from '../../data/use-read.ts'
import { useSession } from '../../session/session.tsx'

/** Whether whoever is signed in may let policies judge the jobs of a namespace. */
export function useNamespaceGiving(): Verdict {
  const { identity } = useSession()
  const account = useRead(['account'], (api, signal) => api.v2.readAccount({ signal }))
  return mayGiveNamespaces({
    isAclEnabled: identity?.isAclEnabled,
    isSiteAdministrator: account.data?.data.attributes['is-admin'],
  })
}
