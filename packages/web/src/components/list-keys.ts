import { useEffect, useEffectEvent, useState, type RefObject } from 'react'

interface ListKeys {
  readonly count: number
  /** Scrolls to a row, which may not be rendered yet. */
  readonly scrollIntoView: (index: number) => void
}

/** Moves through the rows with `j` and `k`, anywhere on the page; Enter opens the row. */
export function useListKeys(
  body: RefObject<HTMLElement | null>,
  { count, scrollIntoView }: ListKeys,
): readonly [active: number, setActive: (index: number) => void] {
  const [active, setActive] = useState(-1)
  const [target, setTarget] = useState<number>()
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const step = event.key === 'j' ? 1 : event.key === 'k' ? -1 : 0
    if (step === 0 || count === 0 || event.ctrlKey || event.metaKey || isTyping(event)) return
    // With several lists on a page, the focused one has the keys, or else the first.
    if (!ownsListKeys(body.current)) return
    event.preventDefault()
    const next = Math.min(count - 1, Math.max(0, active + step))
    scrollIntoView(next)
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

function ownsListKeys(body: HTMLElement | null): boolean {
  if (body === null) return false
  const focused = document.activeElement?.closest('tbody')
  return focused instanceof HTMLElement
    ? focused === body
    : document.querySelector('#main tbody') === body
}

/** Reports whether the key is typed into a text field, and is no shortcut. */
export function isTyping({ target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false
  const isField = /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
  return isField || target.isContentEditable || target.closest('.xterm') !== null
}
