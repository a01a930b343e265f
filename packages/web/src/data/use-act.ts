import { useQueryClient } from '@tanstack/react-query'
import { describeFailure } from '../parts/describe-failure.ts'
import { openForm } from '../parts/form-failure.ts'
import { useToast } from '../parts/toasts.tsx'
import type { Api } from '../session/api.ts'
import { useSession } from '../session/session.tsx'

export interface Act<Data> {
  readonly call: (api: Api) => Promise<Data>
  /** Success message. Absent if the page shows the result itself. */
  readonly done?: string | ((data: Data) => string)
  /** Whether the caller shows this refusal itself, in its place on the page. */
  readonly isShown?: (error: unknown) => boolean
}

/**
 * Does something by the SDK and says what became of it. Gives what the server answered; undefined
 * after a refusal, which has been shown.
 */
export function useAct(): <Data>(act: Act<Data>) => Promise<Data | undefined> {
  const { api } = useSession()
  const toast = useToast()
  const queries = useQueryClient()
  return async ({ call, done, isShown }) => {
    const form = openForm()
    try {
      const data = await call(api)
      const text = typeof done === 'function' ? done(data) : done
      if (text !== undefined) toast({ kind: 'good', text })
      // Seen at once, also where there is no event stream.
      void queries.invalidateQueries(undefined, { cancelRefetch: false })
      return data
    } catch (error) {
      if (isShown?.(error) === true) return undefined
      // A form that was closed meanwhile shows nothing any more.
      if (form !== undefined && form === openForm()) form(error)
      else toast({ kind: 'bad', text: sentencesOf(error) })
      return undefined
    }
  }
}

function sentencesOf(error: unknown): string {
  const { title, text } = describeFailure(error)
  return text === '' ? title : `${title} ${text}`
}
