import { useEffect, useEffectEvent, useState } from 'react'

/** How wide an element is, as it changes; 0 before it is drawn. */
export function useWidth(frame: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const { current } = frame
    if (current === null) return undefined
    const observer = new ResizeObserver(() => setWidth(current.clientWidth))
    observer.observe(current)
    return () => observer.disconnect()
  }, [frame])
  return width
}

/** Draws again when it is scrolled and when the colours change; at most once for each picture. */
export function useRedraw(frame: { readonly current: HTMLElement | null }, draw: () => void): void {
  const drawn = useEffectEvent(draw)
  useEffect(() => {
    const { current } = frame
    if (current === null) return undefined
    let request = 0
    const later = () => {
      cancelAnimationFrame(request)
      request = requestAnimationFrame(() => drawn())
    }
    const dark = window.matchMedia('(prefers-color-scheme: dark)')
    const themes = new MutationObserver(later)
    themes.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    const sizes = new ResizeObserver(later)
    sizes.observe(current)
    current.addEventListener('scroll', later, { passive: true })
    dark.addEventListener('change', later)
    return () => {
      cancelAnimationFrame(request)
      themes.disconnect()
      sizes.disconnect()
      current.removeEventListener('scroll', later)
      dark.removeEventListener('change', later)
    }
  }, [frame])
}
