import { useQuery } from '@tanstack/react-query'
import { useSession } from '../../session/session.tsx'

/** Reads the stored code of a policy. */
export function usePolicyCode(policyId: string | undefined) {
  const { api } = useSession()
  return useQuery({
    queryKey: ['policy-code', policyId ?? ''],
    queryFn: async ({ signal }) => {
      const request = { params: { policy_id: policyId ?? '' }, signal }
      const { data } = await api.v2.downloadPolicy(request)
      return decodeText(data)
    },
    enabled: policyId !== undefined,
    meta: { watches: [{ topic: 'Policy' }] },
  })
}

/** Decodes code: the server accepts UTF-8 only. Empty code has no body. */
export function decodeText(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : new TextDecoder().decode(bytes)
}
