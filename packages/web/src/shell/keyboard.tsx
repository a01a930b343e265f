import { useEffect, useEffectEvent, useRef } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import { navigate } from '../routing/location.ts'
import { hrefOfKey, KEY_MAP } from './key-map.ts'
import { Palette } from './palette.tsx'
import { closeShellWindow, openKeys, openPalette, useShellWindow } from './palette-store.ts'
import { isTyping } from './typing.ts'
import { useNamespace } from './use-namespace.ts'

/** How long the second key of a pair is waited for. */
const PAIR_MS = 1_200

/** The keys that work on every page, and the windows that they open. */
export function Keyboard() {
  const namespace = useNamespace()
  const open = useShellWindow()
  const pressedAtMs = useRef(-PAIR_MS)
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.key === 'k' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault()
      return openPalette()
    }
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return
    const isSecond = event.timeStamp - pressedAtMs.current < PAIR_MS
    pressedAtMs.current = event.key === 'g' ? event.timeStamp : -PAIR_MS
    const href = isSecond ? hrefOfKey(event.key, namespace) : undefined
    if (href !== undefined) navigate(href)
    else if (event.key === '?') openKeys()
    else if (event.key === '/') focusSearch(event)
  })
  useEffect(() => {
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  if (open === 'keys') return <KeysWindow />
  // Loaded with the shell: the letters that follow the key at once must not be lost.
  return open === 'palette' ? <Palette /> : null
}

function focusSearch(event: KeyboardEvent): void {
  const field = document.querySelector<HTMLElement>('#main input[type="search"]')
  if (field === null) return
  event.preventDefault()
  field.focus()
}

function KeysWindow() {
  return (
    <Dialog title="Keys" onClose={closeShellWindow}>
      <dl className="keys">
        {KEY_MAP.map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
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
