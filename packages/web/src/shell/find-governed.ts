import type { v2 } from '@reeve/contract'
import { organizationCan } from '../actions/governance-can.ts'
import { BASE, paths } from '../paths.ts'
import type { Api } from '../session/api.ts'
import type { Hit } from './find-things.ts'

const HITS_OF_KIND_MAX = 5
/** The API searches within one organization at a time: so many are searched, and no more. */
const ORGANIZATIONS_MAX = 4

interface Search {
  readonly text: string
  /** The organization of the page: searched first. */
  readonly here: string | undefined
  readonly signal: AbortSignal
}

/** The organization that an address is in, if it is in one. */
export function organizationOf(pathname: string): string | undefined {
  const name = pathname.slice(BASE.length).split('/')[2]
  const isInside = pathname.startsWith(`${paths.organizations()}/`) && name !== undefined
  return isInside && name !== '' ? decodeURIComponent(name) : undefined
}

/** Organizations, projects, workspaces, policies, policy sets and teams of this name. */
export async function findGoverned(api: Api, search: Search): Promise<readonly Hit[]> {
  const { text, here, signal } = search
  const { data } = await api.v2.listOrganizations({ query: { 'page[size]': 100 }, signal })
  const named = data.data.filter(({ id }) => id.toLowerCase().includes(text))
  const nearFirst = data.data.toSorted((a, b) => Number(b.id === here) - Number(a.id === here))
  const found = await Promise.all(
    nearFirst.slice(0, ORGANIZATIONS_MAX).map((one) => findWithin(api, one, search)),
  )
  return [
    ...named.slice(0, HITS_OF_KIND_MAX).map(({ id }) => ({
      kind: 'Organization',
      text: id,
      detail: '',
      href: paths.organization(id),
    })),
    ...found.flat(),
  ]
}

/** What all of them have. */
interface Named {
  readonly id: string
  readonly attributes: { readonly name: string }
}

async function findWithin(
  api: Api,
  organization: v2.Organization,
  { text, signal }: Search,
): Promise<readonly Hit[]> {
  const { id: name } = organization
  const params = { organization_name: name }
  const page = { 'page[size]': HITS_OF_KIND_MAX }
  const byName = { ...page, 'search[name]': text }
  const hits = (kind: string, items: readonly Named[], href: (item: Named) => string) =>
    items.map((item) => ({ kind, text: item.attributes.name, detail: name, href: href(item) }))
  const mayReadPolicies = organizationCan.readPolicies(organization) === undefined
  const [projects, workspaces, policies, sets, teams] = await Promise.all([
    api.v2.listProjects({ params, query: { ...page, q: text }, signal }),
    api.v2.listWorkspaces({ params, query: byName, signal }),
    mayReadPolicies
      ? api.v2.listOrganizationPolicies({ params, query: byName, signal })
      : undefined,
    mayReadPolicies ? api.v2.listPolicySets({ params, query: byName, signal }) : undefined,
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
