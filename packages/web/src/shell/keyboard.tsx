import { useEffect, useEffectEvent, useRef } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import { navigate } from '../routing/location.ts'
import { shortcutHref, KEY_MAP } from './key-map.ts'
import { Palette } from './palette.tsx'
import { closeShellWindow, openShortcuts, openPalette, useShellWindow } from './palette-store.ts'
import { isTyping } from './typing.ts'
import { useNamespace } from './use-namespace.ts'

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
    <Dialog title="Keys" onClose={closeShellWindow}>
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
