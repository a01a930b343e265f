import { useId, type ReactNode } from 'react'
import { useFieldProblem } from './form-failure.ts'

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
export function useFieldNotes({ id, attribute, hint }: FieldNotesOptions) {
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
