import { NAVIGATION } from './navigation.ts'

/** A key, or two pressed one after the other. */
export interface KeyBinding {
  readonly keys: string
  readonly does: string
}

/** What the window of keys shows. The keys of lists live in `use-list-keys.ts`. */
export const KEY_MAP: readonly KeyBinding[] = [
  { keys: 'Ctrl K', does: 'Search, or go to a page' },
  { keys: '?', does: 'Show the keys' },
  { keys: '/', does: 'Search in the list' },
  { keys: 'j', does: 'Next row of the list' },
  { keys: 'k', does: 'Row before' },
  { keys: 'Enter', does: 'Open the row' },
  { keys: 'Esc', does: 'Close a window' },
  ...NAVIGATION.flatMap(({ items }) =>
    items.flatMap(({ key, text }) =>
      key === undefined ? [] : [{ keys: `g ${key}`, does: `Go to: ${text}` }],
    ),
  ),
]

/** Where `g` and this key lead; undefined where they lead nowhere. */
export function hrefOfKey(key: string, namespace: string): string | undefined {
  const items = NAVIGATION.flatMap((group) => group.items)
  return items.find((item) => item.key === key)?.href(namespace)
}
