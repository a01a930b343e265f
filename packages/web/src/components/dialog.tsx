import {
  useId,
  useLayoutEffect,
  useRef,
  type ReactNode,
  createContext,
  use,
  useCallback,
  useState,
} from 'react'
import { CopyButton } from './command-line.tsx'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  readonly className?: string
}

/** A modal dialog. The browser traps the focus and restores it on close. */
export function Dialog({ title, onClose, children, className = '' }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  // Closed while it is still in the document; otherwise the focus is not restored.
  useLayoutEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={ref}
      className={`dialog ${className}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose()
      }}
    >
      <div className="dialog-body">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  )
}

interface Confirmation {
  readonly title: string
  readonly body: ReactNode
  /** The verb on the button: `Stop the job`. */
  readonly action: string
  readonly isDangerous?: boolean
}

type Confirm = (question: Confirmation) => Promise<boolean>

const ConfirmContext = createContext<Confirm>(() => Promise.resolve(false))

/** Returns a function that asks for confirmation in a dialog. */
export function useConfirm(): Confirm {
  return use(ConfirmContext)
}

interface OpenConfirmation extends Confirmation {
  readonly resolve: (isSure: boolean) => void
}

export function ConfirmProvider({ children }: { readonly children: ReactNode }) {
  const [open, setOpen] = useState<OpenConfirmation>()
  const confirm = useCallback<Confirm>((confirmation) => {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    setOpen({ ...confirmation, resolve: resolve })
    return promise
  }, [])
  const close = (isConfirmed: boolean) => {
    open?.resolve(isConfirmed)
    setOpen(undefined)
  }
  return (
    <ConfirmContext value={confirm}>
      {children}
      {open !== undefined && (
        <Dialog title={open.title} onClose={() => close(false)}>
          <div className="dialog-text">{open.body}</div>
          <div className="row dialog-actions">
            <button type="button" className="button" onClick={() => close(false)}>
              Cancel
            </button>
            <button
              type="button"
              className={open.isDangerous === true ? 'button danger' : 'button primary'}
              onClick={() => close(true)}
            >
              {open.action}
            </button>
          </div>
        </Dialog>
      )}
    </ConfirmContext>
  )
}

interface NewSecretProps {
  readonly secret: string
  readonly onClose: () => void
}

/** Shows a new secret, which is never shown again. */
export function NewSecret({ secret, onClose }: NewSecretProps) {
  return (
    <>
      <p className="note tone-warn">
        This is the secret of the token. Store it safely: it is not shown again.
      </p>
      <div className="command">
        <code tabIndex={0}>{secret}</code>
        <CopyButton text={secret} what="the secret" />
      </div>
      <div className="row dialog-actions">
        <button type="button" className="button primary" onClick={onClose}>
          Done
        </button>
      </div>
    </>
  )
}
