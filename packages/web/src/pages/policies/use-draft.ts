import { useCallback, useState } from 'react'

/**
 * What somebody has typed survives a wrong click: it is kept in this tab until it is thrown away
 * or is what is stored.
 */
export function useDraft(policyId: string) {
  const key = `reeve.policy-draft.${policyId}`
  const [draft, setState] = useState(() => sessionStorage.getItem(key) ?? undefined)
  const setDraft = useCallback(
    (text: string | undefined) => {
      if (text === undefined) sessionStorage.removeItem(key)
      else sessionStorage.setItem(key, text)
      setState(text)
    },
    [key],
  )
  return [draft, setDraft] as const
}
