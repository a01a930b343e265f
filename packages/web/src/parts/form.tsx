import { useId, type ReactNode } from 'react'
import { DialogForm, type DialogFormProps } from './dialog-form.tsx'
import { Dialog } from './dialog.tsx'
import { Field, useFieldNotes } from './field.tsx'

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
