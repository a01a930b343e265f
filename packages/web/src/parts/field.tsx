import { useId, type ReactNode } from 'react'
import { useProblem } from './form-failure.ts'

interface FieldProps {
  readonly label: string
  readonly isOptional?: boolean
  /** What it is called in the request: what the server has against it is said here then. */
  readonly attribute?: string | undefined
  /** Under the field: read out after its name, and not as a part of it. */
  readonly hint?: ReactNode
  /** Draws the control with what joins it to its label. */
  readonly children: (attributes: FieldAttributes) => ReactNode
}

interface FieldAttributes {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': true | undefined
}

/** A control of a form with its name. */
export function Field({ label, isOptional = false, attribute, hint, children }: FieldProps) {
  const id = useId()
  const { notes, ...described } = useNotes({ id, attribute, hint })
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

interface NotesOptions extends Pick<FieldProps, 'attribute' | 'hint'> {
  /** Of the control. */
  readonly id: string
}

/** What stands under a control, and what joins the control to it. */
export function useNotes({ id, attribute, hint }: NotesOptions) {
  const problem = useProblem(attribute)
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
