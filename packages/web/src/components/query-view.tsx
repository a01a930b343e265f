import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { isGoneOrForbidden, isNotFound, useStickyError } from '../data/query-errors.ts'
import { ErrorMessage } from './error-message.tsx'
import { Loading } from './notices.tsx'
import { PageHeader, type Crumb } from './page.tsx'

interface QueryViewProps<Data> {
  readonly query: UseQueryResult<Data>
  /** Name of the content, for the loading text. */
  readonly what: string
  readonly children: (data: Data) => ReactNode
  /** Keeps the children mounted after a deletion, because they hold unsaved input. */
  readonly hasUnsavedInput?: boolean
  /** Title and breadcrumbs, if the record is the subject of the page. */
  readonly page?: PageContext
  /** Shown below a "not found" error. */
  readonly notFoundContent?: ReactNode
}

interface PageContext {
  readonly title: string
  /** Parent pages, outermost first; the back button opens the last one. */
  readonly crumbs: readonly Crumb[]
}

/**
 * Renders the data of a query, or its loading or error state. Cached data stays during a refetch
 * and while the server is unreachable, but not after the record was deleted.
 */
export function QueryView<Data>(props: QueryViewProps<Data>) {
  const { query, what, children, hasUnsavedInput = false, page } = props
  const error = useStickyError(query)
  const isGone = isGoneOrForbidden(error)
  const failure = (
    <ErrorMessage error={error} retry={() => void query.refetch()} back={page?.crumbs.at(-1)} />
  )
  if (query.data !== undefined && (hasUnsavedInput || !isGone))
    return (
      <>
        {isGone && failure}
        {children(query.data)}
      </>
    )
  if (error === null) return <Loading what={what} />
  return (
    <>
      {page !== undefined && <PageHeader title={page.title} crumbs={page.crumbs} />}
      {failure}
      {isNotFound(error) && props.notFoundContent}
    </>
  )
}
