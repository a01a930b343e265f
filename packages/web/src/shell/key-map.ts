import { NAVIGATION } from './navigation.ts'

/** A key, or two pressed one after the other. */
export interface KeyBinding {
  readonly keys: string
  readonly description: string
}

/** Keyboard shortcuts, as the help dialog lists them. */
export const KEY_MAP: readonly KeyBinding[] = [
  { keys: 'Ctrl K', description: 'Search, or go to a page' },
  { keys: '?', description: 'Keyboard shortcuts' },
  { keys: '/', description: 'Search in the list' },
  { keys: 'j', description: 'Next row' },
  { keys: 'k', description: 'Previous row' },
  { keys: 'Enter', description: 'Open the row' },
  { keys: 'Esc', description: 'Close the dialog' },
  ...NAVIGATION.flatMap(({ items }) =>
    items.flatMap(({ key, text }) =>
      key === undefined ? [] : [{ keys: `g ${key}`, description: `Go to: ${text}` }],
    ),
  ),
]

/** Returns the page of the shortcut `g` and this key, if any. */
export function shortcutHref(key: string, namespace: string): string | undefined {
  const items = NAVIGATION.flatMap((group) => group.items)
  return items.find((item) => item.key === key)?.href(namespace)
}
