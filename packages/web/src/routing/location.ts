import { useSyncExternalStore } from 'react'

/** Where the browser is: the one place that holds the state of the pages. */
const listeners = new Set<() => void>()
let current = read()

function read(): URL {
  return new URL(window.location.href)
}

function publish(): void {
  current = read()
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

/** The present address, to come back to. */
export function currentAddress(): string {
  return current.pathname + current.search
}

interface NavigateOptions {
  /** Puts the address in place of the present one: for what nobody wants to go back to. */
  readonly replace?: boolean
}

/** Goes to an address made by a function of `paths.ts`. */
export function navigate(href: string, { replace = false }: NavigateOptions = {}): void {
  const target = new URL(href, window.location.href)
  if (target.href === current.href) return
  const isSamePage = target.pathname === current.pathname
  if (replace) window.history.replaceState(null, '', target)
  else window.history.pushState(null, '', target)
  publish()
  if (isSamePage) return
  // Whoever hears the page begins at its beginning, as after loading one.
  const main = document.querySelector<HTMLElement>('#main')
  main?.scrollTo(0, 0)
  main?.focus({ preventScroll: true })
}

/** The present address with other values after the question mark; undefined takes one away. */
export function hrefWith(values: Readonly<Record<string, string | undefined>>): string {
  const target = new URL(current)
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === '') target.searchParams.delete(name)
    else target.searchParams.set(name, value)
  }
  return target.pathname + target.search
}
