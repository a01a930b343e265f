import type { Choice } from '../../parts/picker.tsx'
import type { Api } from '../../session/api.ts'

/** How many are offered: who seeks more types more. */
const FOUND_MAX = 20

interface Search {
  readonly api: Api
  readonly organization: string
  readonly text: string
  readonly signal: AbortSignal
}

function queryOf({ organization, text, signal }: Search) {
  return {
    params: { organization_name: organization },
    signal,
    page: { 'page[size]': FOUND_MAX },
    wanted: text === '' ? undefined : text,
  }
}

function choicesOf(
  items: readonly { readonly id: string; readonly attributes: { readonly name: string } }[],
): readonly Choice[] {
  return items.map(({ id, attributes }) => ({ id, text: attributes.name }))
}

export async function findWorkspaces(search: Search): Promise<readonly Choice[]> {
  const { params, signal, page, wanted } = queryOf(search)
  const query = { ...page, 'search[name]': wanted }
  return choicesOf((await search.api.v2.listWorkspaces({ params, query, signal })).data.data)
}

export async function findProjects(search: Search): Promise<readonly Choice[]> {
  const { params, signal, page, wanted } = queryOf(search)
  const query = { ...page, q: wanted }
  return choicesOf((await search.api.v2.listProjects({ params, query, signal })).data.data)
}

export async function findTeams(search: Search): Promise<readonly Choice[]> {
  const { params, signal, page, wanted } = queryOf(search)
  const query = { ...page, q: wanted }
  return choicesOf((await search.api.v2.listTeams({ params, query, signal })).data.data)
}

/** Of one kind: a set takes no others. */
export async function findPolicies(
  search: Search & { readonly kind: 'native' | 'opa' },
): Promise<readonly Choice[]> {
  const { params, signal, page, wanted } = queryOf(search)
  const query = { ...page, 'search[name]': wanted, 'filter[kind]': search.kind }
  return choicesOf(
    (await search.api.v2.listOrganizationPolicies({ params, query, signal })).data.data,
  )
}

export async function findMembers(search: Search): Promise<readonly Choice[]> {
  const { params, signal, page, wanted } = queryOf(search)
  const query = { ...page, q: wanted, include: 'user' }
  const { data } = await search.api.v2.listOrganizationMemberships({ params, query, signal })
  return data.data.map(({ id, attributes }) => ({ id, text: attributes.email }))
}

/** Namespaces of the workload API: their id is their name. */
export async function findNamespaces(api: Api, signal: AbortSignal): Promise<readonly Choice[]> {
  const { data } = await api.v1.listNamespaces({ signal })
  return data.map(({ Name }) => ({ id: Name, text: Name }))
}
