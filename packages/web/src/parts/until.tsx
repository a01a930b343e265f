import { useEffect, useState } from 'react'
import { shortDuration } from './time.ts'

/** A countdown in seconds; empty once the time has passed. */
export function Until({ date }: { readonly date: Date }) {
  const [nowMs, setNowMs] = useState(() => Date.now())
  const leftMs = date.getTime() - nowMs
  const isOver = leftMs <= 0
  useEffect(() => {
    if (isOver) return undefined
    const timer = setInterval(() => setNowMs(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [isOver])
  if (isOver) return null
  const iso = date.toISOString()
  return (
    <time dateTime={iso} title={iso}>
      in {shortDuration(leftMs)}:
    </time>
  )
}
