import { useSyncExternalStore } from 'react'

/** The open dialog of the shell. It is not part of the URL. */
export type ShellWindow = 'palette' | 'keys' | undefined

const listeners = new Set<() => void>()
let openWindow: ShellWindow

function setOpenWindow(next: ShellWindow): void {
  openWindow = next
  for (const listener of listeners) listener()
}

export const openPalette = () => setOpenWindow('palette')
export const openShortcuts = () => setOpenWindow('keys')
export const closeShellWindow = () => setOpenWindow(undefined)

export function useShellWindow(): ShellWindow {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => openWindow,
  )
}
