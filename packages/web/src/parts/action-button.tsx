import { useId, useState, type ReactNode } from 'react'
import type { DisabledReason } from '../actions/verdict.ts'

interface ActionButtonProps {
  readonly children: ReactNode
  /** Why the action is disabled; see `permissions/`. */
  readonly disabledReason?: DisabledReason
  readonly onAction: () => void | Promise<void>
  readonly kind?: 'primary' | 'danger' | undefined
  readonly isSubmit?: boolean
}

/**
 * A button that stays visible while it is disabled, with the reason as a tooltip and for screen
 * readers.
 */
export function ActionButton({
  children,
  disabledReason,
  onAction,
  kind,
  isSubmit,
}: ActionButtonProps) {
  const id = useId()
  const [isBusy, setBusy] = useState(false)
  const handleClick = async () => {
    if (disabledReason !== undefined || isBusy) return
    setBusy(true)
    try {
      await onAction()
    } finally {
      setBusy(false)
    }
  }
  return (
    <span className="action">
      <button
        type={isSubmit === true ? 'submit' : 'button'}
        className={`button ${kind ?? ''}`}
        aria-disabled={disabledReason !== undefined || isBusy}
        aria-describedby={disabledReason === undefined ? undefined : id}
        onClick={(event) => {
          event.preventDefault()
          void handleClick()
        }}
      >
        {children}
      </button>
      {disabledReason !== undefined && (
        <span id={id} role="tooltip" className="action-reason">
          {disabledReason}
        </span>
      )}
    </span>
  )
}
