/**
 * Every address of the pages. Nothing else spells one; `site-map.test.ts` holds them against the
 * routes.
 */
export const BASE = '/ui'

/** Replaces a namespace on lists: all that the token may see. */
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

/** What a node has and allocations take: the topology is drawn by one of them. */
export const DIMENSIONS = ['memory', 'cpu'] as const
export type Dimension = (typeof DIMENSIONS)[number]

interface Listed {
  /** All namespaces when absent. */
  readonly namespace?: string | undefined
}

/** A version, and the one that it is held against: the one before it when absent. */
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

/** What stands beside the code of a policy. */
export const POLICY_PANES = ['try', 'replay', 'versions', 'settings'] as const
export type PolicyPane = (typeof POLICY_PANES)[number]

interface PolicyPlace {
  readonly pane?: PolicyPane
  /** The line of the code to look at. */
  readonly line?: number | undefined
}

export const paths = {
  home: () => `${BASE}/`,
  /** `next` is the address that was wanted. */
  signIn: ({ ott, next }: { readonly ott?: string; readonly next?: string | undefined } = {}) =>
    address(['sign-in'], { ott, next }),
  session: () => address(['session']),

  jobs: (query: Listed = {}) => address(['jobs'], listed(query)),
  runJob: (query: Listed = {}) => address(['run'], listed(query)),
  job: ({ namespace, id }: JobName, tab: JobTab = 'overview') =>
    address(['jobs', id, ...(tab === 'overview' ? [] : [tab])], { namespace }),
  /** The definition in the editor, at a line that is to be changed. */
  editJob: ({ namespace, id }: JobName, line?: number) =>
    address(['jobs', id, 'definition'], {
      namespace,
      edit: 'yes',
      line: line === undefined ? undefined : String(line),
    }),
  jobVersions: ({ namespace, id }: JobName, { version, against }: VersionPair) =>
    address(['jobs', id, 'versions'], {
      namespace,
      version: String(version),
      against: against === undefined ? undefined : String(against),
    }),

  allocations: (query: Listed = {}) => address(['allocations'], listed(query)),
  allocation: (id: string, tab: AllocationTab = 'overview', task?: string) =>
    address(['allocations', id, ...(tab === 'overview' ? [] : [tab])], { task }),
  allocationFiles: (id: string, path: string) => address(['allocations', id, 'files'], { path }),

  nodes: () => address(['nodes']),
  node: (id: string, tab: NodeTab = 'overview') =>
    address(['nodes', id, ...(tab === 'overview' ? [] : [tab])]),
  nodePools: () => address(['node-pools']),
  nodePool: (name: string, tab: NodePoolTab = 'nodes') =>
    address(['node-pools', name], { tab: tab === 'nodes' ? undefined : tab }),
  topology: (by: Dimension = 'memory') =>
    address(['topology'], { by: by === 'memory' ? undefined : by }),
  deployments: (query: Listed = {}) => address(['deployments'], listed(query)),
  deployment: (id: string) => address(['deployments', id]),
  evaluations: (query: Listed = {}) => address(['evaluations'], listed(query)),
  evaluation: (id: string) => address(['evaluations', id]),
  events: (query: Listed = {}) => address(['events'], listed(query)),
  services: (query: Listed = {}) => address(['services'], listed(query)),
  service: ({ namespace, id }: JobName) => address(['services', id], { namespace }),
  variables: (query: Listed = {}) => address(['variables'], listed(query)),
  variable: ({ namespace, id }: JobName) => address(['variables', id], { namespace }),
  newVariable: (query: Listed = {}) => address(['new-variable'], listed(query)),
  namespaces: () => address(['namespaces']),
  tokens: () => address(['access', 'tokens']),
  token: (accessor: string) => address(['access', 'tokens', accessor]),
  accessPolicies: () => address(['access', 'policies']),
  accessPolicy: (name: string) => address(['access', 'policies', name]),
  newAccessPolicy: () => address(['access', 'new-policy']),
  roles: () => address(['access', 'roles']),

  verdicts: (query: Listed = {}) => address(['verdicts'], listed(query)),
  verdict: (namespace: string, id: string) => address(['verdicts', id], { namespace }),
  organizations: () => address(['organizations']),
  organization: (name: string, tab: OrganizationTab = 'projects') =>
    address(['organizations', name, ...(tab === 'projects' ? [] : [tab])]),
  project: (organization: string, id: string) =>
    address(['organizations', organization, 'projects', id]),
  workspace: (organization: string, name: string, tab: WorkspaceTab = 'runs') =>
    address(['organizations', organization, 'workspaces', name], {
      tab: tab === 'runs' ? undefined : tab,
    }),
  run: (organization: string, id: string) => address(['organizations', organization, 'runs', id]),
  team: (organization: string, id: string) => address(['organizations', organization, 'teams', id]),
  policySet: (organization: string, id: string) =>
    address(['organizations', organization, 'policy-sets', id]),
  policy: (organization: string, id: string, { pane = 'try', line }: PolicyPlace = {}) =>
    address(['organizations', organization, 'policies', id], {
      pane: pane === 'try' ? undefined : pane,
      line: line === undefined ? undefined : String(line),
    }),
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
