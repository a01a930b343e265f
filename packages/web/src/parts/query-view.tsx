import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { isWithdrawn } from '../data/withdrawn.ts'
import { Failure } from './failure.tsx'
import { Loading } from './loading.tsx'

interface QueryViewProps<Data> {
  readonly query: UseQueryResult<Data>
  /** What is loaded, for the words while it is. */
  readonly what: string
  readonly children: (data: Data) => ReactNode
  /** Something is typed into it, which must not go with what it is about. */
  readonly isEdited?: boolean
}

/**
 * Draws what was read, or why it was not. Old data stays while new data is on its way, also when
 * the server is not reached; but what is gone is not shown as if it were there.
 */
export function QueryView<Data>(props: QueryViewProps<Data>) {
  const { query, what, children, isEdited = false } = props
  const isGone = isWithdrawn(query.error)
  const failure = <Failure error={query.error} retry={() => void query.refetch()} />
  if (query.data !== undefined && (isEdited || !isGone))
    return (
      <>
        {isGone && failure}
        {children(query.data)}
      </>
    )
  return query.error === null ? <Loading what={what} /> : failure
}
