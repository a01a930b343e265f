import type { ComponentType } from 'react'
import type { ParamsOf } from './pattern.ts'

/** What a page is given: the parameters of its path, and what follows the question mark. */
export interface PageProps<Path extends string> {
  readonly params: ParamsOf<Path>
  readonly search: URLSearchParams
}

/** One page of the site map. Its code is loaded when it is first shown. */
export interface PageRoute {
  /** Below `/ui`: `/jobs/:jobId/:tab`. */
  readonly path: string
  /** Of the browser's tab, until the page says something better. */
  readonly title: string
  readonly load: () => Promise<ComponentType<AnyPageProps>>
}

export interface AnyPageProps {
  readonly params: Readonly<Record<string, string>>
  readonly search: URLSearchParams
}

/** Holds a page's component to the parameters that its path names. */
export function page<const Path extends string>(definition: {
  readonly path: Path
  readonly title: string
  readonly load: () => Promise<ComponentType<PageProps<Path>>>
}): PageRoute {
  const { path, title, load } = definition
  // The outlet hands a page what `matchPath` read with this same pattern.
  return { path, title, load: load as unknown as PageRoute['load'] }
}
