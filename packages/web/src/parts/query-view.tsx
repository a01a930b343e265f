import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Failure } from './failure.tsx'
import { Loading } from './loading.tsx'

interface QueryViewProps<Data> {
  readonly query: UseQueryResult<Data>
  /** What is loaded, for the words while it is. */
  readonly what: string
  readonly children: (data: Data) => ReactNode
}

/** Draws what was read, or why it was not. Old data stays while new data is on its way. */
export function QueryView<Data>({ query, what, children }: QueryViewProps<Data>) {
  if (query.data !== undefined) return children(query.data)
  if (query.error !== null)
    return <Failure error={query.error} retry={() => void query.refetch()} />
  return <Loading what={what} />
}
