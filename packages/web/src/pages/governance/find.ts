import type { Choice } from '../../parts/picker.tsx'
import type { Api } from '../../session/api.ts'

/** Maximum number of search results. */
const RESULTS_MAX = 20

interface ResourceSearch {
  readonly api: Api
  readonly organization: string
  readonly text: string
  readonly signal: AbortSignal
}

function searchQuery({ organization, text, signal }: ResourceSearch) {
  return {
    params: { organization_name: organization },
    signal,
    page: { 'page[size]': RESULTS_MAX },
    wanted: text === '' ? undefined : text,
  }
}

function choicesOf(
  items: readonly { readonly id: string; readonly attributes: { readonly name: string } }[],
): readonly Choice[] {
  return items.map(({ id, attributes }) => ({ id, text: attributes.name }))
}

export async function findWorkspaces(search: ResourceSearch): Promise<readonly Choice[]> {
  const { params, signal, page, wanted: searchText } = searchQuery(search)
  const query = { ...page, 'search[name]': searchText }
  return choicesOf((await search.api.v2.listWorkspaces({ params, query, signal })).data.data)
}

export async function findProjects(search: ResourceSearch): Promise<readonly Choice[]> {
  const { params, signal, page, wanted: searchText } = searchQuery(search)
  const query = { ...page, q: searchText }
  return choicesOf((await search.api.v2.listProjects({ params, query, signal })).data.data)
}

export async function findTeams(search: ResourceSearch): Promise<readonly Choice[]> {
  const { params, signal, page, wanted: searchText } = searchQuery(search)
  const query = { ...page, q: searchText }
  return choicesOf((await search.api.v2.listTeams({ params, query, signal })).data.data)
}

/** Searches policies of one kind, because a policy set holds one kind only. */
export async function findPolicies(
  search: ResourceSearch & { readonly kind: 'native' | 'opa' },
): Promise<readonly Choice[]> {
  const { params, signal, page, wanted: searchText } = searchQuery(search)
  const query = { ...page, 'search[name]': searchText, 'filter[kind]': search.kind }
  return choicesOf(
    (await search.api.v2.listOrganizationPolicies({ params, query, signal })).data.data,
  )
}

export async function findMembers(search: ResourceSearch): Promise<readonly Choice[]> {
  const { params, signal, page, wanted: searchText } = searchQuery(search)
  const query = { ...page, q: searchText, include: 'user' }
  const { data } = await search.api.v2.listOrganizationMemberships({ params, query, signal })
  return data.data.map(({ id, attributes }) => ({ id, text: attributes.email }))
}

/** Lists the namespaces of the workload API, whose ID is their name. */
export async function findNamespaces(api: Api, signal: AbortSignal): Promise<readonly Choice[]> {
  const { data } = await api.v1.listNamespaces({ signal })
  return data.map(({ Name }) => ({ id: Name, text: Name }))
}
