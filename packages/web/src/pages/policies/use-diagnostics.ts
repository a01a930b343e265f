import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { v2 } from '@reeve/contract'
import { useEffect, useMemo, useState } from 'react'
import type { Problem } from '../../editor/problem.ts'
import { useSession } from '../../session/session.tsx'

/** Long enough for a word, short enough to be there when one looks up. */
const PAUSE_MS = 350

interface Draft {
  readonly policy: v2.RunPolicy
  readonly code: string
  readonly isChanged: boolean
  /** Who may not change policies may not try them either. */
  readonly mayTry: boolean
}

/**
 * What does not read in the code: as the server stored it, or, of a draft, as the server says when
 * it is tried. A trial stores nothing.
 */
export function useDiagnostics({ policy, code, isChanged, mayTry }: Draft): readonly Problem[] {
  const { api } = useSession()
  const settled = useSettled(code)
  const isAsked = isChanged && mayTry && settled !== ''
  const { data } = useQuery({
    queryKey: ['diagnostics', policy.id, settled],
    queryFn: async ({ signal }) => {
      const attributes = { code: settled, input: { job: {} } }
      const body = { data: { type: 'policy-trials' as const, attributes } }
      const reply = await api.v2.tryPolicy({ params: { policy_id: policy.id }, body, signal })
      return reply.data.data.attributes.diagnostics
    },
    enabled: isAsked,
    placeholderData: keepPreviousData,
  })
  const found = isAsked ? data : policy.attributes.diagnostics
  return useMemo(() => (found ?? []).map(problemOf), [found])
}

/** A text that has not changed for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}

/** The server tells where a fault begins: one character is underlined. */
function problemOf({ line, column, message, severity }: v2.PolicyDiagnostic): Problem {
  return { line, column, endLine: line, endColumn: column + 1, message, severity }
}
