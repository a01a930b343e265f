import { useEffect, useEffectEvent, useRef } from 'react'
import { Dialog } from '../components/dialog.tsx'
import { navigate } from '../routing/location.ts'
import {
  closeShellWindow,
  openPalette,
  openShortcuts,
  Palette,
  useShellWindow,
} from './palette.tsx'
import { isTyping } from '../components/list-keys.ts'
import { NAVIGATION, useNamespace } from './navigation.ts'

/** Maximum time between the two keys of a sequence. */
const KEY_SEQUENCE_MS = 1_200

/** Global keyboard shortcuts and the dialogs that they open. */
export function Keyboard() {
  const namespace = useNamespace()
  const openWindow = useShellWindow()
  const pressedAtMs = useRef(-KEY_SEQUENCE_MS)
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.key === 'k' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault()
      return openPalette()
    }
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return
    const isSecond = event.timeStamp - pressedAtMs.current < KEY_SEQUENCE_MS
    pressedAtMs.current = event.key === 'g' ? event.timeStamp : -KEY_SEQUENCE_MS
    const href = isSecond ? shortcutHref(event.key, namespace) : undefined
    if (href !== undefined) navigate(href)
    else if (event.key === '?') openShortcuts()
    else if (event.key === '/') focusSearch(event)
  })
  useEffect(() => {
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  if (openWindow === 'keys') return <ShortcutsDialog />
  // Not lazy: letters typed right after the shortcut must not be lost.
  return openWindow === 'palette' ? <Palette /> : null
}

function focusSearch(event: KeyboardEvent): void {
  const field = document.querySelector<HTMLElement>('#main input[type="search"]')
  if (field === null) return
  event.preventDefault()
  field.focus()
}

function ShortcutsDialog() {
  return (
    <Dialog title="Keyboard shortcuts" onClose={closeShellWindow}>
      <dl className="keys">
        {KEY_MAP.map(({ keys, description }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{description}</dd>
          </div>
        ))}
      </dl>
      <div className="row dialog-actions">
        <button type="button" className="button" onClick={closeShellWindow}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

/** A key, or two pressed one after the other. */
interface KeyBinding {
  readonly keys: string
  readonly description: string
}

/** Keyboard shortcuts, as the help dialog lists them. */
const KEY_MAP: readonly KeyBinding[] = [
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
function shortcutHref(key: string, namespace: string): string | undefined {
  const items = NAVIGATION.flatMap((group) => group.items)
  return items.find((item) => item.key === key)?.href(namespace)
}
