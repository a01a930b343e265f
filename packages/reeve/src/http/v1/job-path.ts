import type { Route } from '@reeve/contract'

/**
 * Job ids may contain `/`, so what follows `/v1/job/` is split from its end: the longest known
 * suffix names the route, the rest is the id. Anything else is an id as a whole. A slash that is
 * sent as `%2F` belongs to the id, so that one like `web/summary` can be named too.
 */
export interface JobPathMatch {
  readonly path: string
  readonly params: Readonly<Record<string, string>>
}

export const JOB_PREFIX = '/v1/job/:job_id'

export function isJobRoute(route: Route): boolean {
  return route.path === JOB_PREFIX || route.path.startsWith(`${JOB_PREFIX}/`)
}

/**
 * What follows `/v1/job/` in the address of a request, as it was sent. Clients of proxies send
 * whole addresses, which the router takes too.
 */
export function afterJobPrefix(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1)
  return path
    .replace(/^https?:\/\/[^/]*/, '')
    .split('/')
    .slice(JOB_PREFIX.split('/').length - 1)
    .join('/')
}

/** Compiles the job routes' paths to one matcher for the text after `/v1/job/`, as it was sent. */
export function compileJobPaths(routes: readonly Route[]): (rest: string) => JobPathMatch {
  const suffixes = [...new Set(routes.map((route) => route.path))]
    .map((path) => ({ path, parts: path.slice(JOB_PREFIX.length + 1).split('/') }))
    .filter(({ path }) => path !== JOB_PREFIX)
    .toSorted((a, b) => b.parts.length - a.parts.length)
  return (rest) => {
    const segments = rest.split('/').map(decoded)
    for (const { path, parts } of suffixes) {
      const cut = segments.length - parts.length
      const params = cut > 0 ? matchParts(parts, segments.slice(cut)) : undefined
      if (params !== undefined)
        return { path, params: { ...params, job_id: segments.slice(0, cut).join('/') } }
    }
    return { path: JOB_PREFIX, params: { job_id: segments.join('/') } }
  }
}

/** The router has refused paths that cannot be decoded. */
function decoded(segment: string): string {
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
