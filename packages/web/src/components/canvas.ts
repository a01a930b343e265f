import { useEffect, useEffectEvent, useState } from 'react'

/** Returns the current width of an element; 0 before it is rendered. */
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

/** Redraws after scrolling, resizing and theme changes, at most once per frame. */
export function useRedraw(frame: { readonly current: HTMLElement | null }, draw: () => void): void {
  const redraw = useEffectEvent(draw)
  useEffect(() => {
    const { current } = frame
    if (current === null) return undefined
    let request = 0
    const scheduleRedraw = () => {
      cancelAnimationFrame(request)
      request = requestAnimationFrame(() => redraw())
    }
    const dark = window.matchMedia('(prefers-color-scheme: dark)')
    const themes = new MutationObserver(scheduleRedraw)
    themes.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    const sizes = new ResizeObserver(scheduleRedraw)
    sizes.observe(current)
    current.addEventListener('scroll', scheduleRedraw, { passive: true })
    dark.addEventListener('change', scheduleRedraw)
    return () => {
      cancelAnimationFrame(request)
      themes.disconnect()
      sizes.disconnect()
      current.removeEventListener('scroll', scheduleRedraw)
      dark.removeEventListener('change', scheduleRedraw)
    }
  }, [frame])
}

const PALETTE_COLOURS = [
  'text',
  'quiet',
  'sunken',
  'line-strong',
  'good',
  'busy',
  'warn',
  'bad',
  'accent',
  'surface',
] as const
export type Palette = Readonly<Record<(typeof PALETTE_COLOURS)[number], string>>

/** Lets the browser resolve `light-dark()`, which a canvas does not support. */
export function readPalette(): Palette {
  const probe = document.createElement('span')
  document.body.append(probe)
  const read = (name: string) => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
  // The entries are the list's names, each once.
  const palette = Object.fromEntries(PALETTE_COLOURS.map((name) => [name, read(name)])) as Palette
  probe.remove()
  return palette
}
