import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { v2 } from '@reeve/contract'
import { useEffect, useMemo, useState } from 'react'
import type { Problem } from '../../editor/problem.ts'
import { useSession } from '../../session/session.tsx'

/** Pause in typing after which the code is compiled. */
const TYPING_PAUSE_MS = 350

interface DiagnosticsOptions {
  readonly policy: v2.RunPolicy
  readonly code: string
  readonly isChanged: boolean
  /** Trials require the permission to update policies. */
  readonly canEvaluate: boolean
}

/**
 * Returns the compile errors of the code: stored ones, or for a draft those of a trial, which stores
 * nothing.
 */
export function useDiagnostics({
  policy,
  code,
  isChanged,
  canEvaluate,
}: DiagnosticsOptions): readonly Problem[] {
  const { api } = useSession()
  const debouncedCode = useDebounced(code)
  const isDraftEvaluated = isChanged && canEvaluate && debouncedCode !== ''
  const { data } = useQuery({
    queryKey: ['diagnostics', policy.id, debouncedCode],
    queryFn: async ({ signal }) => {
      const attributes = { code: debouncedCode, input: { job: {} } }
      const body = { data: { type: 'policy-trials' as const, attributes } }
      const reply = await api.v2.tryPolicy({ params: { policy_id: policy.id }, body, signal })
      return reply.data.data.attributes.diagnostics
    },
    enabled: isDraftEvaluated,
    placeholderData: keepPreviousData,
  })
  const found = isDraftEvaluated ? data : policy.attributes.diagnostics
  return useMemo(() => (found ?? []).map(problemOf), [found])
}

/** Returns the text after a pause in typing. */
function useDebounced(text: string): string {
  const [debounced, setDebounced] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(text), TYPING_PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return debounced
}

/** Marks one character, because the server only reports the start position. */
function problemOf({ line, column, message, severity }: v2.PolicyDiagnostic): Problem {
  return { line, column, endLine: line, endColumn: column + 1, message, severity }
}
