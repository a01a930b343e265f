import { useId, type ReactNode, useEffect, useRef } from 'react'
import type { DisabledReason } from '../permissions/disabled-reason.ts'
import { ActionButton } from './action-button.tsx'
import { Dialog } from './dialog.tsx'
import { ErrorMessage } from './error-message.tsx'
import { FormContext, useFieldProblem, useFormError } from './errors.ts'

interface ControlProps<Value> {
  readonly label: string
  readonly value: Value
  readonly onChange: (value: Value) => void
  readonly hint?: ReactNode
  /** Attribute of the request; its validation errors are shown at the field. */
  readonly attribute?: string
}

interface TextFieldProps extends ControlProps<string> {
  readonly isOptional?: boolean
  readonly kind?: 'text' | 'email'
}

export function TextField({ value, onChange, kind = 'text', ...field }: TextFieldProps) {
  return (
    <Field {...field}>
      {(attributes) => (
        <input
          {...attributes}
          type={kind}
          required={field.isOptional !== true}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}

interface ChoiceFieldProps<Value extends string> extends ControlProps<Value> {
  readonly choices: readonly Value[]
  readonly textOf?: (value: Value) => string
}

/** A select for an enum of the API. */
export function ChoiceField<Value extends string>(props: ChoiceFieldProps<Value>) {
  const { choices, textOf = (one) => one, value, onChange, ...field } = props
  return (
    <Field {...field}>
      {(attributes) => (
        <select
          {...attributes}
          value={value}
          onChange={(event) => {
            const chosen = choices.find((one) => one === event.target.value)
            if (chosen !== undefined) onChange(chosen)
          }}
        >
          {choices.map((one) => (
            <option key={one} value={one}>
              {textOf(one)}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

export function CheckField(props: ControlProps<boolean>) {
  const { label, value, onChange, ...notes } = props
  const id = useId()
  const { notes: drawn, ...described } = useFieldNotes({ id, ...notes })
  return (
    <div className="field">
      <span className="check">
        <input
          id={id}
          type="checkbox"
          checked={value}
          {...described}
          onChange={(event) => onChange(event.target.checked)}
        />
        <label htmlFor={id}>{label}</label>
      </span>
      {drawn}
    </div>
  )
}

interface FormDialogProps extends Omit<DialogFormProps, 'onSubmit'> {
  readonly title: string
  /** Resolves to whether it succeeded; the dialog closes then. */
  readonly onSubmit: () => Promise<boolean>
}

/** A dialog with a form. */
export function FormDialog({ title, onSubmit, ...form }: FormDialogProps) {
  const submit = async () => {
    if (await onSubmit()) form.onClose()
  }
  return (
    <Dialog title={title} onClose={form.onClose}>
      <DialogForm {...form} onSubmit={submit} />
    </Dialog>
  )
}

interface FieldProps {
  readonly label: string
  readonly isOptional?: boolean
  /** Attribute of the request; its validation errors are shown at the field. */
  readonly attribute?: string | undefined
  /** Help text below the field, announced as its description. */
  readonly hint?: ReactNode
  /** Renders the control with the attributes that connect it to its label. */
  readonly children: (attributes: FieldAttributes) => ReactNode
}

interface FieldAttributes {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': true | undefined
}

/** A form control with label, error and help text. */
export function Field({ label, isOptional = false, attribute, hint, children }: FieldProps) {
  const id = useId()
  const { notes, ...described } = useFieldNotes({ id, attribute, hint })
  return (
    <div className="field">
      <label htmlFor={id}>
        {label} {isOptional && <small>optional</small>}
      </label>
      {children({ id, ...described })}
      {notes}
    </div>
  )
}

interface FieldNotesOptions extends Pick<FieldProps, 'attribute' | 'hint'> {
  /** ID of the control. */
  readonly id: string
}

/** Returns error and help text of a control, with the attributes that connect them. */
function useFieldNotes({ id, attribute, hint }: FieldNotesOptions) {
  const problem = useFieldProblem(attribute)
  const problemId = problem === undefined ? undefined : `${id}-problem`
  const hintId = hint === undefined ? undefined : `${id}-hint`
  const ids = [problemId, hintId].filter((one) => one !== undefined)
  return {
    'aria-describedby': ids.length === 0 ? undefined : ids.join(' '),
    'aria-invalid': problem === undefined ? undefined : (true as const),
    notes: (
      <>
        {problem !== undefined && (
          <p id={problemId} className="field-problem" role="alert">
            {problem}
          </p>
        )}
        {hint !== undefined && <small id={hintId}>{hint}</small>}
      </>
    ),
  }
}

interface DialogFormProps {
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
