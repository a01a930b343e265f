import { useQueryClient } from '@tanstack/react-query'
import { describeError, openFormErrorHandler } from '../components/errors.ts'
import { useToast } from '../components/toasts.tsx'
import type { Api } from '../session/api.ts'
import { useSession } from '../session/session.tsx'

export interface ApiAction<Data> {
  readonly call: (api: Api) => Promise<Data>
  /** Success message. Absent if the page shows the result itself. */
  readonly successMessage?: string | ((data: Data) => string)
  /** Returns true if the caller shows this error itself. */
  readonly handlesError?: (error: unknown) => boolean
}

/**
 * Returns a function that calls the API and shows the outcome. It resolves to the response, or to
 * undefined after an error, which has been shown.
 */
export function useApiAction(): <Data>(act: ApiAction<Data>) => Promise<Data | undefined> {
  const { api } = useSession()
  const toast = useToast()
  const queries = useQueryClient()
  return async ({ call, successMessage, handlesError }) => {
    const form = openFormErrorHandler()
    try {
      const data = await call(api)
      const text = typeof successMessage === 'function' ? successMessage(data) : successMessage
      if (text !== undefined) toast({ kind: 'good', text })
      // Refetches at once, because there may be no event stream.
      void queries.invalidateQueries(undefined, { cancelRefetch: false })
      return data
    } catch (error) {
      if (handlesError?.(error) === true) return undefined
      // A form that was closed during the request can no longer show the error.
      if (form !== undefined && form === openFormErrorHandler()) form(error)
      else toast({ kind: 'bad', text: errorText(error) })
      return undefined
    }
  }
}

function errorText(error: unknown): string {
  const { title, text } = describeError(error)
  return text === '' ? title : `${title} ${text}`
}
