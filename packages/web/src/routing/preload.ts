/**
 * The outlet's way to load the code of a page before its link is followed. It registers itself
 * here, because links are used by the pages that the outlet knows.
 */
let load: ((path: string) => void) | undefined

export function onPreload(loader: (path: string) => void): void {
  load = loader
}

export function preload(href: string): void {
  load?.(new URL(href, window.location.href).pathname)
}
