import type { Route } from '@reeve/contract'

/**
 * A parsed job path. Job IDs may contain `/`, so the text after `/v1/job/` is split from its end:
 * the longest known suffix selects the route, the rest is the ID. Anything else is an ID as a
 * whole. A slash encoded as `%2F` belongs to the ID, so that an ID like `web/summary` can be
 * addressed too.
 */
export interface JobPathMatch {
  readonly path: string
  readonly params: Readonly<Record<string, string>>
}

export const JOB_PATH = '/v1/job/:job_id'

export function isJobRoute(route: Route): boolean {
  return route.path === JOB_PATH || route.path.startsWith(`${JOB_PATH}/`)
}

/**
 * Returns the undecoded text after `/v1/job/`. Clients of proxies send absolute URLs, which the
 * router accepts too.
 */
export function jobPathSuffix(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1)
  return path
    .replace(/^https?:\/\/[^/]*/, '')
    .split('/')
    .slice(JOB_PATH.split('/').length - 1)
    .join('/')
}

/** Compiles the paths of the job routes to one matcher for the undecoded text after `/v1/job/`. */
export function compileJobPaths(routes: readonly Route[]): (rest: string) => JobPathMatch {
  const suffixes = [...new Set(routes.map((route) => route.path))]
    .map((path) => ({ path, parts: path.slice(JOB_PATH.length + 1).split('/') }))
    .filter(({ path }) => path !== JOB_PATH)
    .toSorted((a, b) => b.parts.length - a.parts.length)
  return (rest) => {
    const segments = rest.split('/').map(decodeSegment)
    for (const { path, parts } of suffixes) {
      const cut = segments.length - parts.length
      const params = cut > 0 ? matchParts(parts, segments.slice(cut)) : undefined
      if (params !== undefined)
        return { path, params: { ...params, job_id: segments.slice(0, cut).join('/') } }
    }
    return { path: JOB_PATH, params: { job_id: segments.join('/') } }
  }
}

/** Decodes a segment. The router has rejected invalid encodings. */
function decodeSegment(segment: string): string {
  return decodeURIComponent(segment)
}

function matchParts(
  parts: readonly string[],
  segments: readonly string[],
): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (const [i, part] of parts.entries()) {
    const segment = segments[i] ?? ''
    if (part.startsWith(':')) params[part.slice(1)] = segment
    else if (part !== segment) return undefined
  }
  return params
}
