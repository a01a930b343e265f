import { useSyncExternalStore } from 'react'

/** The URL of the browser, which holds the state of the pages. */
const listeners = new Set<() => void>()
let current = readLocation()

function readLocation(): URL {
  return new URL(window.location.href)
}

function publish(): void {
  current = readLocation()
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  if (listeners.size === 1) window.addEventListener('popstate', publish)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) window.removeEventListener('popstate', publish)
  }
}

export function useLocation(): URL {
  return useSyncExternalStore(subscribe, () => current)
}

/** Returns the current URL, to return to it later. */
export function currentAddress(): string {
  return current.pathname + current.search
}

interface NavigateOptions {
  /** Replaces the current history entry. */
  readonly replace?: boolean
}

/** Opens a URL from `paths.ts`. */
export function navigate(href: string, { replace = false }: NavigateOptions = {}): void {
  const target = new URL(href, window.location.href)
  if (target.href === current.href) return
  const isSamePage = target.pathname === current.pathname
  if (replace) window.history.replaceState(null, '', target)
  else window.history.pushState(null, '', target)
  publish()
  if (isSamePage) return
  // Screen readers start at the top of the page, as after a page load.
  const main = document.querySelector<HTMLElement>('#main')
  main?.scrollTo(0, 0)
  main?.focus({ preventScroll: true })
}

/** Returns the current URL with changed query parameters; undefined removes one. */
export function hrefWith(values: Readonly<Record<string, string | undefined>>): string {
  const target = new URL(current)
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === '') target.searchParams.delete(name)
    else target.searchParams.set(name, value)
  }
  return target.pathname + target.search
}
