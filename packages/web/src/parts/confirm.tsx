import { createContext, use, useCallback, useState, type ReactNode } from 'react'
import { Dialog } from './dialog.tsx'

export interface Confirmation {
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
