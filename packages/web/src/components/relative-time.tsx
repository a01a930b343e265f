import { useEffect, useState, useSyncExternalStore } from 'react'
import { shortDuration } from '../format.ts'

const TICK_MS = 5_000
const listeners = new Set<() => void>()
let nowMs = Date.now()
let timer: ReturnType<typeof setInterval> | undefined

/** All instances share one timer: a page may show a thousand times. */
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

/** A relative time, with the exact time as a tooltip. */
export function RelativeTime({ date }: { readonly date: Date | undefined }) {
  const now = useSyncExternalStore(subscribe, () => nowMs)
  if (date === undefined) return <span className="quiet">–</span>
  const iso = date.toISOString()
  return (
    <time dateTime={iso} title={iso}>
      {shortDuration(Math.max(now, Date.now()) - date.getTime())} ago
    </time>
  )
}

/** A countdown in seconds; empty once the time has passed. */
export function Until({ date }: { readonly date: Date }) {
  const [currentMs, setNowMs] = useState(() => Date.now())
  const leftMs = date.getTime() - currentMs
  const isOver = leftMs <= 0
  useEffect(() => {
    if (isOver) return undefined
    const countdown = setInterval(() => setNowMs(Date.now()), 1_000)
    return () => clearInterval(countdown)
  }, [isOver])
  if (isOver) return null
  const iso = date.toISOString()
  return (
    <time dateTime={iso} title={iso}>
      in {shortDuration(leftMs)}:
    </time>
  )
}
