import { useId, type ReactNode } from 'react'

interface FieldProps {
  readonly label: string
  readonly isOptional?: boolean
  /** Under the field: read out after its name, and not as a part of it. */
  readonly hint?: ReactNode
  /** Draws the control with what joins it to its label. */
  readonly children: (attributes: FieldAttributes) => ReactNode
}

interface FieldAttributes {
  readonly id: string
  readonly 'aria-describedby': string | undefined
}

/** A control of a form with its name. */
export function Field({ label, isOptional = false, hint, children }: FieldProps) {
  const id = useId()
  const hintId = hint === undefined ? undefined : `${id}-hint`
  return (
    <div className="field">
      <label htmlFor={id}>
        {label} {isOptional && <small>optional</small>}
      </label>
      {children({ id, 'aria-describedby': hintId })}
      {hint !== undefined && <small id={hintId}>{hint}</small>}
    </div>
  )
}
