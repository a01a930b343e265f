import { useSyncExternalStore } from 'react'

/** Which window of the shell is open. Not in the address: it is a gesture, not a place. */
export type ShellWindow = 'palette' | 'keys' | undefined

const listeners = new Set<() => void>()
let open: ShellWindow

function set(next: ShellWindow): void {
  open = next
  for (const listener of listeners) listener()
}

export const openPalette = () => set('palette')
export const openKeys = () => set('keys')
export const closeShellWindow = () => set(undefined)

export function useShellWindow(): ShellWindow {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => open,
  )
}
