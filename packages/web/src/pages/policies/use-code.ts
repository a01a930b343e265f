import { useQuery } from '@tanstack/react-query'
import { useSession } from '../../session/session.tsx'

/** The code of a policy as it is stored now; nothing where it may not be read. */
export function useCode(policyId: string | undefined) {
  const { api } = useSession()
  return useQuery({
    queryKey: ['policy-code', policyId ?? ''],
    queryFn: async ({ signal }) => {
      const request = { params: { policy_id: policyId ?? '' }, signal }
      const { data } = await api.v2.downloadPolicy(request)
      return textOf(data)
    },
    enabled: policyId !== undefined,
    meta: { watches: [{ topic: 'Policy' }] },
  })
}

/** What was uploaded is UTF-8: the server refuses anything else. An empty file has no bytes. */
export function textOf(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : new TextDecoder().decode(bytes)
}
