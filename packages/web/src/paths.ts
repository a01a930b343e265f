/**
 * URLs of all pages. No other code spells one; `site-map.test.ts` compares them with the routes.
 */
export const BASE = '/ui'

/** On lists, stands for all namespaces that the token may read. */
export const ALL_NAMESPACES = '*'

/** Namespace and ID of a job or another record in a namespace. */
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
  'verdicts',
  'logs',
  'explain',
] as const
export type JobTab = (typeof JOB_TABS)[number]

export const ALLOCATION_TABS = ['overview', 'logs', 'files', 'usage', 'terminal'] as const
export type AllocationTab = (typeof ALLOCATION_TABS)[number]

export const NODE_TABS = ['overview', 'allocations', 'attributes'] as const
export type NodeTab = (typeof NODE_TABS)[number]

export const NODE_POOL_TABS = ['nodes', 'jobs'] as const
export type NodePoolTab = (typeof NODE_POOL_TABS)[number]

/** Resources by which the topology is drawn. */
export const DIMENSIONS = ['memory', 'cpu'] as const
export type Dimension = (typeof DIMENSIONS)[number]

interface NamespaceQuery {
  /** All namespaces when absent. */
  readonly namespace?: string | undefined
}

/** A job version and the version to compare it with; by default the previous one. */
export interface VersionPair {
  readonly version: number
  readonly against?: number | undefined
}

export const ORGANIZATION_TABS = [
  'projects',
  'workspaces',
  'policies',
  'policy-sets',
  'teams',
  'members',
  'tokens',
  'tag-keys',
  'audit',
  'settings',
] as const
export type OrganizationTab = (typeof ORGANIZATION_TABS)[number]

export const WORKSPACE_TABS = ['runs', 'states', 'tags', 'access', 'settings'] as const
export type WorkspaceTab = (typeof WORKSPACE_TABS)[number]

/** Panes beside the code of a policy. */
export const POLICY_PANES = ['try', 'replay', 'versions', 'settings'] as const
export type PolicyPane = (typeof POLICY_PANES)[number]

interface PolicyLocation {
  readonly pane?: PolicyPane
  /** The line of the code to scroll to. */
  readonly line?: number | undefined
}

export const paths = {
  home: () => `${BASE}/`,
  /** `next` is the page to open after signing in. */
  signIn: ({ ott, next }: { readonly ott?: string; readonly next?: string | undefined } = {}) =>
    buildUrl(['sign-in'], { ott, next }),
  session: () => buildUrl(['session']),

  jobs: (query: NamespaceQuery = {}) => buildUrl(['jobs'], withoutAllNamespaces(query)),
  runJob: (query: NamespaceQuery = {}) => buildUrl(['run'], withoutAllNamespaces(query)),
  job: ({ namespace, id }: JobName, tab: JobTab = 'overview') =>
    buildUrl(['jobs', id, ...(tab === 'overview' ? [] : [tab])], { namespace }),
  /** The definition in the editor, scrolled to a line. */
  editJob: ({ namespace, id }: JobName, line?: number) =>
    buildUrl(['jobs', id, 'definition'], {
      namespace,
      edit: 'yes',
      line: line === undefined ? undefined : String(line),
    }),
  jobVersions: ({ namespace, id }: JobName, { version, against }: VersionPair) =>
    buildUrl(['jobs', id, 'versions'], {
      namespace,
      version: String(version),
      against: against === undefined ? undefined : String(against),
    }),

  allocations: (query: NamespaceQuery = {}) =>
    buildUrl(['allocations'], withoutAllNamespaces(query)),
  allocation: (id: string, tab: AllocationTab = 'overview', task?: string) =>
    buildUrl(['allocations', id, ...(tab === 'overview' ? [] : [tab])], { task }),
  allocationFiles: (id: string, path: string) => buildUrl(['allocations', id, 'files'], { path }),

  nodes: () => buildUrl(['nodes']),
  node: (id: string, tab: NodeTab = 'overview') =>
    buildUrl(['nodes', id, ...(tab === 'overview' ? [] : [tab])]),
  nodePools: () => buildUrl(['node-pools']),
  nodePool: (name: string, tab: NodePoolTab = 'nodes') =>
    buildUrl(['node-pools', name], { tab: tab === 'nodes' ? undefined : tab }),
  topology: (by: Dimension = 'memory') =>
    buildUrl(['topology'], { by: by === 'memory' ? undefined : by }),
  deployments: (query: NamespaceQuery = {}) =>
    buildUrl(['deployments'], withoutAllNamespaces(query)),
  deployment: (id: string) => buildUrl(['deployments', id]),
  evaluations: (query: NamespaceQuery = {}) =>
    buildUrl(['evaluations'], withoutAllNamespaces(query)),
  evaluation: (id: string) => buildUrl(['evaluations', id]),
  events: (query: NamespaceQuery = {}) => buildUrl(['events'], withoutAllNamespaces(query)),
  services: (query: NamespaceQuery = {}) => buildUrl(['services'], withoutAllNamespaces(query)),
  service: ({ namespace, id }: JobName) => buildUrl(['services', id], { namespace }),
  variables: (query: NamespaceQuery = {}) => buildUrl(['variables'], withoutAllNamespaces(query)),
  variable: ({ namespace, id }: JobName) => buildUrl(['variables', id], { namespace }),
  newVariable: (query: NamespaceQuery = {}) =>
    buildUrl(['new-variable'], withoutAllNamespaces(query)),
  namespaces: () => buildUrl(['namespaces']),
  tokens: () => buildUrl(['access', 'tokens']),
  token: (accessor: string) => buildUrl(['access', 'tokens', accessor]),
  accessPolicies: () => buildUrl(['access', 'policies']),
  accessPolicy: (name: string) => buildUrl(['access', 'policies', name]),
  newAccessPolicy: () => buildUrl(['access', 'new-policy']),
  roles: () => buildUrl(['access', 'roles']),

  verdicts: (query: NamespaceQuery = {}) => buildUrl(['verdicts'], withoutAllNamespaces(query)),
  verdict: (namespace: string, id: string) => buildUrl(['verdicts', id], { namespace }),
  organizations: () => buildUrl(['organizations']),
  organization: (name: string, tab: OrganizationTab = 'projects') =>
    buildUrl(['organizations', name, ...(tab === 'projects' ? [] : [tab])]),
  project: (organization: string, id: string) =>
    buildUrl(['organizations', organization, 'projects', id]),
  workspace: (organization: string, name: string, tab: WorkspaceTab = 'runs') =>
    buildUrl(['organizations', organization, 'workspaces', name], {
      tab: tab === 'runs' ? undefined : tab,
    }),
  run: (organization: string, id: string) => buildUrl(['organizations', organization, 'runs', id]),
  team: (organization: string, id: string) =>
    buildUrl(['organizations', organization, 'teams', id]),
  policySet: (organization: string, id: string) =>
    buildUrl(['organizations', organization, 'policy-sets', id]),
  policy: (organization: string, id: string, { pane = 'try', line }: PolicyLocation = {}) =>
    buildUrl(['organizations', organization, 'policies', id], {
      pane: pane === 'try' ? undefined : pane,
      line: line === undefined ? undefined : String(line),
    }),
} as const

function withoutAllNamespaces<Query extends NamespaceQuery>(query: Query): Query {
  return query.namespace === ALL_NAMESPACES ? { ...query, namespace: undefined } : query
}

/** Segments are encoded, because IDs contain slashes. */
function buildUrl(segments: readonly string[], query: object = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (typeof value === 'string' && value !== '') search.set(name, value)
  const queryString = search.size === 0 ? '' : `?${search.toString()}`
  return `${BASE}/${segments.map(encodeURIComponent).join('/')}${queryString}`
}
