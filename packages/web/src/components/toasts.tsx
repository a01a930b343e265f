import { createContext, use, useCallback, useRef, useState, type ReactNode } from 'react'
import { Icon } from './icon.tsx'

export interface Toast {
  readonly kind: 'good' | 'bad'
  readonly text: string
}

/** Success messages disappear after this time; errors stay until they are closed. */
const SHOWN_MS = 6_000
const TOASTS_MAX = 4

const ToastContext = createContext<(toast: Toast) => void>(() => undefined)

/** Returns a function that shows a message, announced to screen readers. */
export function useToast(): (toast: Toast) => void {
  return use(ToastContext)
}

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly (Toast & { readonly id: number })[]>([])
  const lastId = useRef(0)
  const close = useCallback(
    (id: number) => setToasts((all) => all.filter((one) => one.id !== id)),
    [],
  )
  const show = useCallback(
    (toast: Toast) => {
      lastId.current += 1
      const id = lastId.current
      setToasts((all) => [...all, { ...toast, id }].slice(-TOASTS_MAX))
      if (toast.kind === 'good') setTimeout(() => close(id), SHOWN_MS)
    },
    [close],
  )
  return (
    <ToastContext value={show}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map(({ id, kind, text }) => (
          <div key={id} className={`toast tone-${kind}`}>
            <Icon name={kind === 'good' ? 'complete' : 'failed'} />
            <span>{text}</span>
            <button type="button" className="icon-button" onClick={() => close(id)}>
              <Icon name="close" label="Close this message" />
            </button>
          </div>
        ))}
      </div>
    </ToastContext>
  )
}
