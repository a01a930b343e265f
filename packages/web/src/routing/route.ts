import type { ComponentType } from 'react'

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

/** Parameters of a path pattern: `/jobs/:jobId/:tab` has `jobId` and `tab`. */
type ParamsOf<Path extends string> = Path extends `${infer Head}/${infer Rest}`
  ? ParamOf<Head> & ParamsOf<Rest>
  : ParamOf<Path>

type ParamOf<Part extends string> = Part extends `:${infer Name}`
  ? { readonly [K in Name]: string }
  : unknown

/**
 * Returns the parameters of a path that matches the pattern; undefined if it does not match or is
 * not decodable. A pattern matches whole segments only.
 */
export function matchPath(
  pattern: string,
  path: string,
): Readonly<Record<string, string>> | undefined {
  const patternSegments = segmentsOf(pattern)
  const pathSegments = segmentsOf(path)
  if (patternSegments.length !== pathSegments.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of patternSegments.entries()) {
    const text = decode(pathSegments[index] ?? '')
    if (text === undefined) return undefined
    if (part.startsWith(':')) params[part.slice(1)] = text
    else if (part !== text) return undefined
  }
  return params
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '')
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}
