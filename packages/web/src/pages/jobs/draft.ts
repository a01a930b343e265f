import { useState } from 'react'
import type { JobSource } from './job-source.ts'

/**
 * What somebody has typed survives a wrong click: it is kept in this tab until it is run or thrown
 * away.
 */
export function useDraft(name: string, initial: JobSource) {
  const key = `reeve.draft.${name}`
  const [draft, setDraft] = useState(() => readDraft(key))
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

function readDraft(key: string): JobSource | undefined {
  const text = sessionStorage.getItem(key)
  // Only `useDraft` writes under this name, and it writes sources.
  return text === null ? undefined : (JSON.parse(text) as JobSource)
}
