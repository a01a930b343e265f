import { createContext, use, useCallback, useState, type ReactNode } from 'react'
import { Dialog } from './dialog.tsx'

export interface Question {
  readonly title: string
  readonly body: ReactNode
  /** The verb on the button: `Stop the job`. */
  readonly action: string
  readonly isDangerous?: boolean
}

type Ask = (question: Question) => Promise<boolean>

const ConfirmContext = createContext<Ask>(() => Promise.resolve(false))

/** Asks before something that cannot be taken back. */
export function useConfirm(): Ask {
  return use(ConfirmContext)
}

interface Open extends Question {
  readonly answer: (isSure: boolean) => void
}

export function ConfirmProvider({ children }: { readonly children: ReactNode }) {
  const [open, setOpen] = useState<Open>()
  const ask = useCallback<Ask>((question) => {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    setOpen({ ...question, answer: resolve })
    return promise
  }, [])
  const end = (isSure: boolean) => {
    open?.answer(isSure)
    setOpen(undefined)
  }
  return (
    <ConfirmContext value={ask}>
      {children}
      {open !== undefined && (
        <Dialog title={open.title} onClose={() => end(false)}>
          <div className="dialog-text">{open.body}</div>
          <div className="row dialog-actions">
            <button type="button" className="button" onClick={() => end(false)}>
              Cancel
            </button>
            <button
              type="button"
              className={open.isDangerous === true ? 'button danger' : 'button primary'}
              onClick={() => end(true)}
            >
              {open.action}
            </button>
          </div>
        </Dialog>
      )}
    </ConfirmContext>
  )
}
