/**
 * Every address of the pages. Nothing else spells one; `site-map.test.ts` holds them against the
 * routes.
 */
export const BASE = '/ui'

/** In place of a namespace on lists: all that the token may see (Spec W: List jobs). */
export const ALL_NAMESPACES = '*'

/** What names a job, an allocation's job and the like. */
export interface JobName {
  readonly namespace: string
  readonly id: string
}

export const JOB_TABS = [
  'overview',
  'definition',
  'versions',
  'deployments',
  'allocations',
  'evaluations',
  'logs',
  'explain',
] as const
export type JobTab = (typeof JOB_TABS)[number]

interface Listed {
  /** All namespaces when absent. */
  readonly namespace?: string | undefined
}

/** A version, and the one that it is held against: the one before it when absent. */
export interface VersionPair {
  readonly version: number
  readonly against?: number | undefined
}

export const paths = {
  home: () => `${BASE}/`,
  signIn: (oneTimeSecret?: string) => address(['sign-in'], { ott: oneTimeSecret }),
  session: () => address(['session']),

  jobs: (query: Listed = {}) => address(['jobs'], listed(query)),
  runJob: (query: Listed = {}) => address(['run'], listed(query)),
  job: ({ namespace, id }: JobName, tab: JobTab = 'overview') =>
    address(['jobs', id, ...(tab === 'overview' ? [] : [tab])], { namespace }),
  jobVersions: ({ namespace, id }: JobName, { version, against }: VersionPair) =>
    address(['jobs', id, 'versions'], {
      namespace,
      version: String(version),
      against: against === undefined ? undefined : String(against),
    }),

  allocations: (query: Listed = {}) => address(['allocations'], listed(query)),
  allocation: (id: string, tab?: string) =>
    address(['allocations', id, ...(tab === undefined ? [] : [tab])]),

  nodes: () => address(['nodes']),
  node: (id: string, tab?: string) => address(['nodes', id, ...(tab === undefined ? [] : [tab])]),
  topology: () => address(['topology']),
  deployments: (query: Listed = {}) => address(['deployments'], listed(query)),
  deployment: (id: string) => address(['deployments', id]),
  evaluations: (query: Listed = {}) => address(['evaluations'], listed(query)),
  evaluation: (id: string) => address(['evaluations', id]),
  events: (query: Listed = {}) => address(['events'], listed(query)),
  services: (query: Listed = {}) => address(['services'], listed(query)),
  variables: (query: Listed = {}) => address(['variables'], listed(query)),
  namespaces: () => address(['namespaces']),
  tokens: () => address(['access', 'tokens']),
  accessPolicies: () => address(['access', 'policies']),
  roles: () => address(['access', 'roles']),

  organizations: () => address(['organizations']),
  organization: (name: string, tab?: string) =>
    address(['organizations', name, ...(tab === undefined ? [] : [tab])]),
} as const

function listed<Query extends Listed>(query: Query): Query {
  return query.namespace === ALL_NAMESPACES ? { ...query, namespace: undefined } : query
}

/** Segments are encoded: ids hold slashes. */
function address(segments: readonly string[], query: object = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (typeof value === 'string' && value !== '') search.set(name, value)
  const after = search.size === 0 ? '' : `?${search.toString()}`
  return `${BASE}/${segments.map(encodeURIComponent).join('/')}${after}`
}
