import { ApiError } from '@reeve/sdk'
import { createContext, use, useCallback, useEffect, useMemo, useRef, useState } from 'react'

type ShowError = (error: unknown) => void

let openFormHandler: ShowError | undefined

/**
 * Returns the error handler of the open form dialog, if any. Dialogs are modal, so a request that
 * starts now belongs to the form.
 */
export function openFormErrorHandler(): ShowError | undefined {
  return openFormHandler
}

interface FormError {
  readonly error: unknown
  /** Whether the fields show all parts of the error. */
  readonly isShownAtFields: boolean
}

interface OpenForm {
  readonly error: unknown
  /** Registers the field of an attribute; returns a function that removes it. */
  readonly registerField: (attribute: string) => () => void
}

/** The form that contains a field. */
export const FormContext = createContext<OpenForm | undefined>(undefined)

/** Holds the error of a form; fields read theirs from the context. */
export function useFormError() {
  const [failure, setFailure] = useState<FormError>()
  const fields = useRef(new Set<string>())
  useEffect(() => {
    const show = (error: unknown) =>
      setFailure({ error, isShownAtFields: isShownAtFields(fields.current, error) })
    openFormHandler = show
    return () => {
      if (openFormHandler === show) openFormHandler = undefined
    }
  }, [])
  const registerField = useCallback((attribute: string) => {
    const all = fields.current.add(attribute)
    return () => all.delete(attribute)
  }, [])
  const error = failure?.error
  const context = useMemo<OpenForm>(() => ({ error, registerField }), [error, registerField])
  return { failure, context, clear: () => setFailure(undefined) }
}

/** Returns the error of the field of an attribute, if any. */
export function useFieldProblem(attribute: string | undefined): string | undefined {
  const form = use(FormContext)
  const registerField = form?.registerField
  useEffect(
    () => (attribute === undefined ? undefined : registerField?.(attribute)),
    [attribute, registerField],
  )
  if (attribute === undefined || !(form?.error instanceof ApiError)) return undefined
  return form.error.detailsAt(attributePointer(attribute)).join('\n') || undefined
}

/** Reports whether the fields of these attributes show the complete error. */
export function isShownAtFields(attributes: ReadonlySet<string>, error: unknown): boolean {
  if (!(error instanceof ApiError) || error.errors.length === 0) return false
  const pointers = new Set<string | undefined>([...attributes].map(attributePointer))
  return error.errors.every(({ source }) => pointers.has(source?.pointer))
}

function attributePointer(attribute: string): string {
  return `/data/attributes/${attribute}`
}
