import { ApiError } from '@reeve/sdk'
import { createContext, use, useCallback, useEffect, useMemo, useRef, useState } from 'react'

type ShowFailure = (error: unknown) => void

let shownBy: ShowFailure | undefined

/**
 * Shows a failure in the form that is open in a window; undefined when none is. What is behind a
 * window cannot be used or read: what begins while a form is open began in it, and is told in it.
 */
export function openForm(): ShowFailure | undefined {
  return shownBy
}

interface FormFailure {
  readonly error: unknown
  /** Whether nothing of it is left to say that no field says. */
  readonly isAtFields: boolean
}

interface OpenForm {
  readonly error: unknown
  /** Says that an attribute has a field, until what it gives is called. */
  readonly addField: (attribute: string) => () => void
}

/** The form that a field is in. */
export const FormContext = createContext<OpenForm | undefined>(undefined)

/** What the server has against the whole of a form; its fields take theirs from the context. */
export function useFormFailure() {
  const [failure, setFailure] = useState<FormFailure>()
  const fields = useRef(new Set<string>())
  useEffect(() => {
    const show = (error: unknown) =>
      setFailure({ error, isAtFields: isSaidAt(fields.current, error) })
    shownBy = show
    return () => {
      if (shownBy === show) shownBy = undefined
    }
  }, [])
  const addField = useCallback((attribute: string) => {
    const all = fields.current.add(attribute)
    return () => all.delete(attribute)
  }, [])
  const error = failure?.error
  const context = useMemo<OpenForm>(() => ({ error, addField }), [error, addField])
  return { failure, context, forget: () => setFailure(undefined) }
}

/** What the server has against the field of an attribute; undefined when nothing. */
export function useProblem(attribute: string | undefined): string | undefined {
  const form = use(FormContext)
  const addField = form?.addField
  useEffect(
    () => (attribute === undefined ? undefined : addField?.(attribute)),
    [attribute, addField],
  )
  if (attribute === undefined || !(form?.error instanceof ApiError)) return undefined
  return form.error.detailsAt(pointerOf(attribute)).join('\n') || undefined
}

/** Whether the fields of these attributes say everything that is wrong. */
export function isSaidAt(attributes: ReadonlySet<string>, error: unknown): boolean {
  if (!(error instanceof ApiError) || error.errors.length === 0) return false
  const pointers = new Set<string | undefined>([...attributes].map(pointerOf))
  return error.errors.every(({ source }) => pointers.has(source?.pointer))
}

function pointerOf(attribute: string): string {
  return `/data/attributes/${attribute}`
}
