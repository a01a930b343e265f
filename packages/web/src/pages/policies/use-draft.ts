import { useCallback, useState } from 'react'

interface Draft {
  readonly code: string
  /** Of the stored code that it began with: others may store code meanwhile. */
  readonly begunSha: string | null
}

/**
 * What somebody has typed survives a wrong click: it is kept in this tab until it is thrown away
 * or is what is stored.
 */
export function useDraft(policyId: string) {
  const key = `reeve.policy-code.${policyId}`
  const [draft, setState] = useState(() => readDraft(key))
  const setDraft = useCallback(
    (next: Draft | undefined) => {
      if (next === undefined) sessionStorage.removeItem(key)
      else sessionStorage.setItem(key, JSON.stringify(next))
      setState(next)
    },
    [key],
  )
  return [draft, setDraft] as const
}

function readDraft(key: string): Draft | undefined {
  const text = sessionStorage.getItem(key)
  // Only `useDraft` writes under this name, and it writes drafts.
  return text === null ? undefined : (JSON.parse(text) as Draft)
}
