import { useId, type ReactNode } from 'react'
import type { Verdict } from '../actions/verdict.ts'
import { ActionButton } from './action-button.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'

interface ControlProps<Value> {
  readonly label: string
  readonly value: Value
  readonly onChange: (value: Value) => void
  readonly hint?: ReactNode
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

/** One of a few words of the API. */
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

export function CheckField({ label, value, onChange, hint }: ControlProps<boolean>) {
  const id = useId()
  return (
    <div className="field">
      <span className="check">
        <input
          id={id}
          type="checkbox"
          checked={value}
          aria-describedby={hint === undefined ? undefined : `${id}-hint`}
          onChange={(event) => onChange(event.target.checked)}
        />
        <label htmlFor={id}>{label}</label>
      </span>
      {hint !== undefined && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  )
}

interface FormDialogProps {
  readonly title: string
  /** The verb on the button. */
  readonly action: string
  readonly refusal?: Verdict
  /** Whether it was done: the window closes then. */
  readonly onSubmit: () => Promise<boolean>
  readonly onClose: () => void
  readonly children: ReactNode
}

/** A form in a window above the page. Enter sends it. */
export function FormDialog(props: FormDialogProps) {
  const { title, action, refusal, onSubmit, onClose, children } = props
  const submit = async () => {
    if (await onSubmit()) onClose()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="stack" onSubmit={(event) => event.preventDefault()}>
        {children}
        <div className="row dialog-actions">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <ActionButton kind="primary" refusal={refusal} onAct={submit} isSubmit>
            {action}
          </ActionButton>
        </div>
      </form>
    </Dialog>
  )
}
