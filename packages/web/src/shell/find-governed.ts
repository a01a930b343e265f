import type { v2 } from '@reeve/contract'
import { organizationDisabledReason } from '../actions/governance-can.ts'
import { BASE, paths } from '../paths.ts'
import type { Api } from '../session/api.ts'
import type { SearchHit } from './find-things.ts'

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
