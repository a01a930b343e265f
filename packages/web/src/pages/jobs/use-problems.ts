import { useEffect, useState } from 'react'
import type { Problem } from '../../editor/problem.ts'
import { useSession } from '../../session/session.tsx'
import { parseSource, type JobSource } from './job-source.ts'

/** Pause in typing after which the text is parsed. */
const TYPING_PAUSE_MS = 400
const NO_PROBLEMS: readonly Problem[] = []

/** Returns the errors that the server reports for a text, shortly after typing. */
export function useProblems(source: JobSource, namespace: string): readonly Problem[] {
  const { api } = useSession()
  const [problems, setProblems] = useState(NO_PROBLEMS)
  useEffect(() => {
    const abortController = new AbortController()
    const parse = async () => {
      try {
        const parsed = await parseSource(api, source, { namespace, signal: abortController.signal })
        if (!abortController.signal.aborted) setProblems(parsed.problems)
      } catch {
        // A missing permission or connection is reported by the plan, not with every key.
        if (!abortController.signal.aborted) setProblems(NO_PROBLEMS)
      }
    }
    if (source.text.trim() === '') {
      setProblems(NO_PROBLEMS)
      return undefined
    }
    const timer = setTimeout(() => void parse(), TYPING_PAUSE_MS)
    return () => {
      clearTimeout(timer)
      abortController.abort()
    }
  }, [api, source, namespace])
  return problems
}
