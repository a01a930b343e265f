import { useEffect, useRef, type ReactNode } from 'react'
import type { DisabledReason } from '../actions/verdict.ts'
import { ActionButton } from './action-button.tsx'
import { ErrorMessage } from './failure.tsx'
import { FormContext, useFormError } from './form-failure.ts'

export interface DialogFormProps {
  /** The verb on the button. */
  readonly action: string
  readonly kind?: 'primary' | 'danger'
  readonly disabledReason?: DisabledReason
  readonly onSubmit: () => Promise<void>
  readonly onClose: () => void
  readonly children: ReactNode
}

/**
 * The form of a dialog. Errors of the request are shown at the fields that they name, or below the
 * form.
 */
export function DialogForm(props: DialogFormProps) {
  const { action, kind = 'primary', disabledReason, onSubmit, onClose, children } = props
  const ref = useRef<HTMLFormElement>(null)
  const { failure, context, clear: clearError } = useFormError()
  useEffect(() => {
    if (failure !== undefined)
      ref.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [failure])
  const submit = async () => {
    clearError()
    await onSubmit()
  }
  return (
    <form ref={ref} className="stack" onSubmit={(event) => event.preventDefault()}>
      <FormContext value={context}>{children}</FormContext>
      {failure !== undefined && !failure.isShownAtFields && <ErrorMessage error={failure.error} />}
      <div className="row dialog-actions">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <ActionButton kind={kind} disabledReason={disabledReason} onAction={submit} isSubmit>
          {action}
        </ActionButton>
      </div>
    </form>
  )
}
