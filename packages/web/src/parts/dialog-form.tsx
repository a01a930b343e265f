import { useEffect, useRef, type ReactNode } from 'react'
import type { Verdict } from '../actions/verdict.ts'
import { ActionButton } from './action-button.tsx'
import { Failure } from './failure.tsx'
import { FormContext, useFormFailure } from './form-failure.ts'

export interface DialogFormProps {
  /** The verb on the button. */
  readonly action: string
  readonly kind?: 'primary' | 'danger'
  readonly refusal?: Verdict
  readonly onSubmit: () => Promise<void>
  readonly onClose: () => void
  readonly children: ReactNode
}

/**
 * The form in a window. Enter sends it; what the server refuses is said in it, at the field where
 * the refusal names one.
 */
export function DialogForm(props: DialogFormProps) {
  const { action, kind = 'primary', refusal, onSubmit, onClose, children } = props
  const ref = useRef<HTMLFormElement>(null)
  const { failure, context, forget } = useFormFailure()
  useEffect(() => {
    if (failure !== undefined)
      ref.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [failure])
  const submit = async () => {
    forget()
    await onSubmit()
  }
  return (
    <form ref={ref} className="stack" onSubmit={(event) => event.preventDefault()}>
      <FormContext value={context}>{children}</FormContext>
      {failure !== undefined && !failure.isAtFields && <Failure error={failure.error} />}
      <div className="row dialog-actions">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <ActionButton kind={kind} refusal={refusal} onAct={submit} isSubmit>
          {action}
        </ActionButton>
      </div>
    </form>
  )
}
