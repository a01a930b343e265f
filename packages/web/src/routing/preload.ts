/**
 * Loads the code of a page before its link is followed. The outlet registers its loader here,
 * because an import would be circular: links are used by the pages that the outlet renders.
 */
let load: ((path: string) => void) | undefined

export function onPreload(loader: (path: string) => void): void {
  load = loader
}

export function preload(href: string): void {
  load?.(new URL(href, window.location.href).pathname)
}
