import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useKeptFailure } from '../data/kept-failure.ts'
import { isNotThere, isWithdrawn } from '../data/withdrawn.ts'
import { Failure } from './failure.tsx'
import { Loading } from './loading.tsx'
import { PageHead, type Crumb } from './page-head.tsx'

interface QueryViewProps<Data> {
  readonly query: UseQueryResult<Data>
  /** What is loaded, for the words while it is. */
  readonly what: string
  readonly children: (data: Data) => ReactNode
  /** Something is typed into it, which must not go with what it is about. */
  readonly isEdited?: boolean
  /** When the whole page is about it: where that is, also while nothing can be shown. */
  readonly page?: PagePlace
  /** What is still known of something that is not there, under the failure. */
  readonly whenGone?: ReactNode
}

interface PagePlace {
  readonly title: string
  /** The pages above it, outermost first; the last one is the way back. */
  readonly crumbs: readonly Crumb[]
}

/**
 * Draws what was read, or why it was not. Old data stays while new data is on its way, also when
 * the server is not reached; but what is gone is not shown as if it were there.
 */
export function QueryView<Data>(props: QueryViewProps<Data>) {
  const { query, what, children, isEdited = false, page } = props
  const error = useKeptFailure(query)
  const isGone = isWithdrawn(error)
  const failure = (
    <Failure error={error} retry={() => void query.refetch()} back={page?.crumbs.at(-1)} />
  )
  if (query.data !== undefined && (isEdited || !isGone))
    return (
      <>
        {isGone && failure}
        {children(query.data)}
      </>
    )
  if (error === null) return <Loading what={what} />
  return (
    <>
      {page !== undefined && <PageHead title={page.title} crumbs={page.crumbs} />}
      {failure}
      {isNotThere(error) && props.whenGone}
    </>
  )
}
