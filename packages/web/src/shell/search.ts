import type { FuzzySearchResponse, SearchResponse, v2 } from '@reeve/contract'
import { BASE, paths } from '../paths.ts'
import { organizationDisabledReason } from '../permissions/governance.ts'
import type { Api } from '../session/api.ts'

/** A search result: a page to open. */
export interface SearchHit {
  readonly kind: string
  readonly text: string
  readonly detail: string
  readonly href: string
}

const QUERY_CHARS_MIN = 2
/** Texts that may be the prefix of an ID; shorter ones match too many. */
const ID_PREFIX_PATTERN = /^[0-9a-f][0-9a-f-]{3,}$/
const WORKLOAD_HITS_MAX = 6

/** Searches jobs, nodes, allocations, evaluations and deployments. */
export async function searchWorkload(
  api: Api,
  text: string,
  signal: AbortSignal,
): Promise<readonly SearchHit[]> {
  if (text.length < QUERY_CHARS_MIN) return []
  const query = { namespace: '*' }
  const byName = api.v1.fuzzySearch({ query, body: { Text: text, Context: 'all' }, signal })
  if (!ID_PREFIX_PATTERN.test(text)) return hitsByName((await byName).data)
  // Prefixes of ids have an even number of characters without dashes.
  const byId = api.v1.search({ query, body: { Prefix: text, Context: 'all' }, signal })
  const [named, prefixed] = await Promise.all([byName, byId])
  return uniqueHits([...hitsByName(named.data), ...hitsByPrefix(prefixed.data)])
}

function hitsByName({ Matches }: FuzzySearchResponse): readonly SearchHit[] {
  const matchesIn = (context: string) => (Matches[context] ?? []).slice(0, WORKLOAD_HITS_MAX)
  return [
    ...matchesIn('jobs').map(({ ID, Scope }) => {
      const [namespace = 'default', id = ID] = Scope ?? []
      return { kind: 'Job', text: ID, detail: namespace, href: paths.job({ namespace, id }) }
    }),
    ...matchesIn('nodes').map(({ ID, Scope }) => {
      const id = Scope?.[0] ?? ID
      return { kind: 'Node', text: ID, detail: id.slice(0, 8), href: paths.node(id) }
    }),
    ...matchesIn('allocs').map(({ ID, Scope }) => {
      const id = Scope?.[1] ?? ID
      return { kind: 'Allocation', text: ID, detail: id.slice(0, 8), href: paths.allocation(id) }
    }),
  ]
}

function hitsByPrefix({ Matches }: SearchResponse): readonly SearchHit[] {
  const matchesIn = (context: string) => (Matches[context] ?? []).slice(0, WORKLOAD_HITS_MAX)
  return [
    ...matchesIn('allocs').map((id) => hitOf('Allocation', id, paths.allocation(id))),
    ...matchesIn('nodes').map((id) => hitOf('Node', id, paths.node(id))),
    ...matchesIn('evals').map((id) => hitOf('Evaluation', id, paths.evaluation(id))),
    ...matchesIn('deployment').map((id) => hitOf('Deployment', id, paths.deployment(id))),
  ]
}

function hitOf(kind: string, id: string, href: string): SearchHit {
  return { kind, text: id.slice(0, 8), detail: id, href }
}

function uniqueHits(hits: readonly SearchHit[]): readonly SearchHit[] {
  return [...new Map(hits.toReversed().map((hit) => [hit.href, hit])).values()].toReversed()
}

const GOVERNANCE_HITS_MAX = 5
/** Maximum number of searched organizations; the API searches one at a time. */
const ORGANIZATIONS_MAX = 4

interface GovernanceSearch {
  readonly text: string
  /** The organization of the current page, searched first. */
  readonly currentOrganization: string | undefined
  readonly signal: AbortSignal
}

/** Returns the organization in a URL path, if any. */
export function organizationInPath(pathname: string): string | undefined {
  const name = pathname.slice(BASE.length).split('/')[2]
  const isInside = pathname.startsWith(`${paths.organizations()}/`) && name !== undefined
  return isInside && name !== '' ? decodeURIComponent(name) : undefined
}

/** Searches organizations and their resources by name. */
export async function searchGovernance(
  api: Api,
  search: GovernanceSearch,
): Promise<readonly SearchHit[]> {
  const { text, currentOrganization, signal } = search
  const { data } = await api.v2.listOrganizations({ query: { 'page[size]': 100 }, signal })
  const named = data.data.filter(({ id }) => id.toLowerCase().includes(text))
  const currentFirst = data.data.toSorted(
    (a, b) => Number(b.id === currentOrganization) - Number(a.id === currentOrganization),
  )
  const found = await Promise.all(
    currentFirst.slice(0, ORGANIZATIONS_MAX).map((one) => searchOrganization(api, one, search)),
  )
  return [
    ...named.slice(0, GOVERNANCE_HITS_MAX).map(({ id }) => ({
      kind: 'Organization',
      text: id,
      detail: '',
      href: paths.organization(id),
    })),
    ...found.flat(),
  ]
}

/** Common fields of the searched resources. */
interface NamedResource {
  readonly id: string
  readonly attributes: { readonly name: string }
}

async function searchOrganization(
  api: Api,
  organization: v2.Organization,
  { text, signal }: GovernanceSearch,
): Promise<readonly SearchHit[]> {
  const { id: name } = organization
  const params = { organization_name: name }
  const page = { 'page[size]': GOVERNANCE_HITS_MAX }
  const byName = { ...page, 'search[name]': text }
  const hits = (
    kind: string,
    items: readonly NamedResource[],
    href: (item: NamedResource) => string,
  ) => items.map((item) => ({ kind, text: item.attributes.name, detail: name, href: href(item) }))
  const canReadPolicies = organizationDisabledReason.readPolicies(organization) === undefined
  const [projects, workspaces, policies, sets, teams] = await Promise.all([
    api.v2.listProjects({ params, query: { ...page, q: text }, signal }),
    api.v2.listWorkspaces({ params, query: byName, signal }),
    canReadPolicies
      ? api.v2.listOrganizationPolicies({ params, query: byName, signal })
      : undefined,
    canReadPolicies ? api.v2.listPolicySets({ params, query: byName, signal }) : undefined,
    api.v2.listTeams({ params, query: { ...page, q: text }, signal }),
  ])
  return [
    ...hits('Project', projects.data.data, ({ id }) => paths.project(name, id)),
    ...hits('Workspace', workspaces.data.data, ({ attributes }) =>
      paths.workspace(name, attributes.name),
    ),
    ...hits('Policy', policies?.data.data ?? [], ({ id }) => paths.policy(name, id)),
    ...hits('Policy set', sets?.data.data ?? [], ({ id }) => paths.policySet(name, id)),
    ...hits('Team', teams.data.data, ({ id }) => paths.team(name, id)),
  ]
}
