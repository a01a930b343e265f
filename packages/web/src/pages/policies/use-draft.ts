import { useCallback, useState } from 'react'

interface Draft {
  readonly code: string
  /** Hash of the stored code when the draft was started, to detect changes by others. */
  readonly baseSha: string | null
}

/**
 * Keeps edited code in the session storage of the tab, so that it survives navigation, until it is
 * saved or discarded.
 */
export function usePolicyDraft(policyId: string) {
  const key = `reeve.policy-code.${policyId}`
  const [draft, setStoredDraft] = useState(() => readPolicyDraft(key))
  const setDraft = useCallback(
    (next: Draft | undefined) => {
      if (next === undefined) sessionStorage.removeItem(key)
      else sessionStorage.setItem(key, JSON.stringify(next))
      setStoredDraft(next)
    },
    [key],
  )
  return [draft, setDraft] as const
}

function readPolicyDraft(key: string): Draft | undefined {
  const text = sessionStorage.getItem(key)
  // Only `useDraft` writes under this name, and it writes drafts.
  return text === null ? undefined : (JSON.parse(text) as Draft)
}
