import { useId, useState, type ReactNode } from 'react'
import { useApiAction } from '../data/api-action.ts'
import type { DisabledReason } from '../permissions/disabled-reason.ts'
import { navigate } from '../routing/location.ts'
import type { Api } from '../session/api.ts'
import { useConfirm } from './dialog.tsx'

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

interface DeleteButtonProps {
  /** `the project Web shop`. */
  readonly what: string
  readonly body: ReactNode
  readonly disabledReason: DisabledReason
  readonly call: (api: Api) => Promise<unknown>
  /** The page to open after the deletion. */
  readonly returnTo: string
}

/** Deletes the record of a page after confirmation, and leaves the page. */
export function DeleteButton({ what, body, disabledReason, call, returnTo }: DeleteButtonProps) {
  const callApi = useApiAction()
  const confirm = useConfirm()
  const remove = async () => {
    const confirmation = { title: `Delete ${what}?`, body, action: 'Delete', isDangerous: true }
    if (!(await confirm(confirmation))) return
    const result = await callApi({ call, successMessage: `Deleted ${what}.` })
    if (result !== undefined) navigate(returnTo)
  }
  return (
    <ActionButton kind="danger" disabledReason={disabledReason} onAction={remove}>
      Delete…
    </ActionButton>
  )
}
