import { createContext, use, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { ApiError, ConnectionError } from '@reeve/sdk'

interface ErrorDescription {
  readonly title: string
  readonly text: string
  readonly advice: string
  readonly canSignIn?: boolean
}

/** Returns the text of an error, with advice. */
export function describeError(error: unknown): ErrorDescription {
  if (error instanceof ApiError) return describeApiError(error)
  if (error instanceof ConnectionError)
    return {
      title: 'The server cannot be reached.',
      text: error.message,
      advice: 'Check that it is running and that this address is correct.',
    }
  return {
    title: 'This page failed.',
    text: error instanceof Error ? error.message : String(error),
    advice: 'Load it again. If it happens again, please report it.',
  }
}

function describeApiError(error: ApiError): ErrorDescription {
  const { code, status, text, requestId } = error
  if (status === 401 || status === 403)
    return {
      title: 'You do not have permission.',
      text,
      advice: 'Ask for a token with the permission, or sign in with another token.',
      canSignIn: true,
    }
  if (code === 'allocation-not-on-node')
    return {
      title: 'The node has no files of this allocation.',
      text,
      advice:
        'The allocation has not started yet, or its files were deleted: a node keeps the latest ended allocations only. The overview shows its events.',
    }
  if (status === 404)
    return {
      title: 'Not found.',
      text,
      advice: 'It may have been deleted, be in another namespace, or be hidden from this token.',
      canSignIn: true,
    }
  if (status >= 500)
    return {
      title: 'The server failed.',
      text,
      advice: `It wrote the reason to its log${requestId === undefined ? '' : ` as request ${requestId}`}.`,
    }
  return {
    title: 'The server rejected the request.',
    text,
    advice: 'Correct the input and try again.',
  }
}

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
