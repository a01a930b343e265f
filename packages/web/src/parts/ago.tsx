import { useSyncExternalStore } from 'react'
import { shortDuration } from './time.ts'

const TICK_MS = 5_000
const listeners = new Set<() => void>()
let nowMs = Date.now()
let timer: ReturnType<typeof setInterval> | undefined

/** One clock for all: a page with a thousand times must not have a thousand timers. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    nowMs = Date.now()
    for (const one of listeners) one()
  }, TICK_MS)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** How long ago, with the exact time for those who point at it. */
export function Ago({ date }: { readonly date: Date | undefined }) {
  const now = useSyncExternalStore(subscribe, () => nowMs)
  if (date === undefined) return <span className="quiet">–</span>
  const iso = date.toISOString()
  return (
    <time dateTime={iso} title={iso}>
      {shortDuration(Math.max(now, Date.now()) - date.getTime())} ago
    </time>
  )
}
