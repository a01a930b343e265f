import type { ComponentType } from 'react'
import type { ParamsOf } from './pattern.ts'

/** Props of a page: the parameters of its path, and the query. */
export interface PageProps<Path extends string> {
  readonly params: ParamsOf<Path>
  readonly search: URLSearchParams
}

/** A page of the site map. Its code is loaded on first use. */
export interface PageRoute {
  /** Below `/ui`: `/jobs/:jobId/:tab`. */
  readonly path: string
  /** Title of the browser tab until the page sets its own. */
  readonly title: string
  readonly load: () => Promise<ComponentType<AnyPageProps>>
}

export interface AnyPageProps {
  readonly params: Readonly<Record<string, string>>
  readonly search: URLSearchParams
}

/** Declares a route; the type requires that the component accepts the parameters of the path. */
export function page<const Path extends string>(definition: {
  readonly path: Path
  readonly title: string
  readonly load: () => Promise<ComponentType<PageProps<Path>>>
}): PageRoute {
  const { path, title, load } = definition
  // The outlet hands a page what `matchPath` read with this same pattern.
  return { path, title, load: load as unknown as PageRoute['load'] }
}
