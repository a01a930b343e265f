import { useId, useState, type ReactNode } from 'react'
import type { Verdict } from '../actions/verdict.ts'

interface ActionButtonProps {
  readonly children: ReactNode
  /** Why it may not be done; see the action tables. */
  readonly refusal?: Verdict
  readonly onAct: () => void | Promise<void>
  readonly kind?: 'primary' | 'danger' | undefined
  readonly isSubmit?: boolean
}

/**
 * A button that is there also when it may not be used, and then says why: to those who point at it,
 * and to those who hear it.
 */
export function ActionButton({ children, refusal, onAct, kind, isSubmit }: ActionButtonProps) {
  const id = useId()
  const [isBusy, setBusy] = useState(false)
  const act = async () => {
    if (refusal !== undefined || isBusy) return
    setBusy(true)
    try {
      await onAct()
    } finally {
      setBusy(false)
    }
  }
  return (
    <span className="action">
      <button
        type={isSubmit === true ? 'submit' : 'button'}
        className={`button ${kind ?? ''}`}
        aria-disabled={refusal !== undefined || isBusy}
        aria-describedby={refusal === undefined ? undefined : id}
        onClick={(event) => {
          event.preventDefault()
          void act()
        }}
      >
        {children}
      </button>
      {refusal !== undefined && (
        <span id={id} role="tooltip" className="action-reason">
          {refusal}
        </span>
      )}
    </span>
  )
}
