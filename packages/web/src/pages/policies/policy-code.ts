import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useState } from 'react'
import type { v2 } from '@reeve/contract'
import type { Problem } from '../../editor/problem.ts'
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
 * Returns the compile errors of the code: stored ones, or for a draft those of a trial, which
 * stores nothing.
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

export const QUERY_EXAMPLE = 'data.policy.deny'

/** Initial code of new policies: a working example. */
export const CODE_EXAMPLES: Readonly<Record<v2.PolicyKind, string>> = {
  native: `# No group of a job asks for more than three instances.
few = rule {
  all job.task_groups as group { group.count <= 3 }
}

main = rule { few }
`,
  opa: `package policy

import rego.v1

deny contains message if {
  some group in input.job.TaskGroups
  group.Count > 3
  message := sprintf("the group %s asks for %d instances", [group.Name, group.Count])
}
`,
}

/** Initial input of a trial. */
export const INPUT_EXAMPLE = `{
  "job": {
    "ID": "web",
    "TaskGroups": [{ "Name": "web", "Count": 9 }]
  },
  "namespace": "default"
}
`
