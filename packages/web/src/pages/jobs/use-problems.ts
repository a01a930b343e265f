import { useEffect, useState } from 'react'
import type { Problem } from '../../editor/problem.ts'
import { useSession } from '../../session/session.tsx'
import { readSource, type JobSource } from './job-source.ts'

/** Long enough that a word is finished. */
const TYPED_MS = 400
const NONE: readonly Problem[] = []

/** What the server's parser says about a text, shortly after it was typed. */
export function useProblems(source: JobSource, namespace: string): readonly Problem[] {
  const { api } = useSession()
  const [problems, setProblems] = useState(NONE)
  useEffect(() => {
    const stopper = new AbortController()
    const ask = async () => {
      try {
        const read = await readSource(api, source, { namespace, signal: stopper.signal })
        if (!stopper.signal.aborted) setProblems(read.problems)
      } catch {
        // Whoever may not parse, or is offline, learns it when they plan: not with every letter.
        if (!stopper.signal.aborted) setProblems(NONE)
      }
    }
    if (source.text.trim() === '') {
      setProblems(NONE)
      return undefined
    }
    const timer = setTimeout(() => void ask(), TYPED_MS)
    return () => {
      clearTimeout(timer)
      stopper.abort()
    }
  }, [api, source, namespace])
  return problems
}
