import { useEffect, useEffectEvent, useState, type RefObject } from 'react'
import { isTyping } from '../shell/typing.ts'

interface ListKeys {
  readonly count: number
  /** Scrolls a row into view that may not be drawn. */
  readonly reveal: (index: number) => void
}

/** `j` and `k` move through the rows, from anywhere on the page; Enter follows the row's link. */
export function useListKeys(
  body: RefObject<HTMLElement | null>,
  { count, reveal }: ListKeys,
): readonly [active: number, setActive: (index: number) => void] {
  const [active, setActive] = useState(-1)
  const [target, setTarget] = useState<number>()
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const step = event.key === 'j' ? 1 : event.key === 'k' ? -1 : 0
    if (step === 0 || count === 0 || event.ctrlKey || event.metaKey || isTyping(event)) return
    // A page may hold several lists: the keys belong to the one with the focus, else to the first.
    if (!isOwner(body.current)) return
    event.preventDefault()
    const next = Math.min(count - 1, Math.max(0, active + step))
    reveal(next)
    setActive(next)
    setTarget(next)
  })
  useEffect(() => {
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  useEffect(() => {
    if (target === undefined) return
    const row = body.current?.querySelector<HTMLElement>(`[data-row="${target}"]`)
    const link = row?.querySelector<HTMLElement>('a, button')
    if (link === undefined || link === null) return
    link.focus({ preventScroll: false })
    setTarget(undefined)
  })
  return [active, setActive]
}

function isOwner(body: HTMLElement | null): boolean {
  if (body === null) return false
  const focused = document.activeElement?.closest('tbody')
  return focused instanceof HTMLElement
    ? focused === body
    : document.querySelector('#main tbody') === body
}
