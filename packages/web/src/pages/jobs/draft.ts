import { useState } from 'react'
import type { JobSource } from './job-source.ts'

/**
 * Keeps an edited job in the session storage of the tab, so that it survives navigation, until it is
 * submitted or discarded.
 */
export function useJobDraft(name: string, initial: JobSource) {
  const key = `reeve.draft.${name}`
  const [draft, setDraft] = useState(() => readJobDraft(key))
  return {
    source: draft ?? initial,
    isChanged: draft !== undefined && draft.text !== initial.text,
    change: (source: JobSource) => {
      sessionStorage.setItem(key, JSON.stringify(source))
      setDraft(source)
    },
    discard: () => {
      sessionStorage.removeItem(key)
      setDraft(undefined)
    },
  }
}

function readJobDraft(key: string): JobSource | undefined {
  const text = sessionStorage.getItem(key)
  // Only `useDraft` writes under this name, and it writes sources.
  return text === null ? undefined : (JSON.parse(text) as JobSource)
}
