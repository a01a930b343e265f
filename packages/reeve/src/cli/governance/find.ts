import type { ItemOf } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { chooseOne } from '../prefix.ts'
import { organizationOf } from './organization.ts'

interface Named {
  readonly id: string
  readonly attributes: { readonly name: string }
}

interface NamedSearch<T> {
  readonly noun: string
  /** An id or a name. */
  readonly given: string
  /** How ids of this kind begin. */
  readonly prefix: string
  /** The command that lists what there is. */
  readonly lists: string
  readonly read: (id: string) => Promise<{ readonly data: { readonly data: T } }>
  /** What has the text in its name. */
  readonly search: () => Promise<AsyncIterable<T>>
}

/** The one resource that is meant by an id or by a name; names are equal whatever their case. */
async function findNamed<T extends Named>(options: NamedSearch<T>): Promise<T> {
  const { noun, given, prefix, lists, read, search } = options
  if (given.startsWith(`${prefix}-`)) return (await read(given)).data.data
  const found: T[] = []
  const wanted = given.toLowerCase()
  for await (const one of await search()) {
    if (one.attributes.name.toLowerCase() === wanted) found.push(one)
  }
  return chooseOne({
    noun,
    given,
    found,
    lists,
    idOf: ({ attributes }) => attributes.name,
    describe: ({ id, attributes }) => `${id}  ${attributes.name}`,
  })
}

export async function findProject(
  invocation: Invocation,
  given: string,
): Promise<ItemOf<'listProjects'>> {
  const { client } = invocation
  return await findNamed({
    noun: 'project',
    given,
    prefix: 'prj',
    lists: 'reeve project list',
    read: (project_id) => client.v2.readProject({ params: { project_id } }),
    search: async () =>
      client.pages('listProjects', {
        params: await organizationOf(invocation),
        query: { 'filter[names]': given },
      }),
  })
}

export async function findWorkspace(
  invocation: Invocation,
  given: string,
): Promise<ItemOf<'listWorkspaces'>> {
  const { client } = invocation
  return await findNamed({
    noun: 'workspace',
    given,
    prefix: 'ws',
    lists: 'reeve workspace list',
    read: (workspace_id) => client.v2.readWorkspace({ params: { workspace_id } }),
    search: async () =>
      client.pages('listWorkspaces', {
        params: await organizationOf(invocation),
        query: { 'search[name]': given },
      }),
  })
}

export async function findTeam(
  invocation: Invocation,
  given: string,
): Promise<ItemOf<'listTeams'>> {
  const { client } = invocation
  return await findNamed({
    noun: 'team',
    given,
    prefix: 'team',
    lists: 'reeve team list',
    read: (team_id) => client.v2.readTeam({ params: { team_id } }),
    search: async () => client.pages('listTeams', { params: await organizationOf(invocation) }),
  })
}

export async function findPolicy(
  invocation: Invocation,
  given: string,
): Promise<ItemOf<'listOrganizationPolicies'>> {
  const { client } = invocation
  return await findNamed({
    noun: 'policy',
    given,
    prefix: 'pol',
    lists: 'reeve policy list',
    read: (policy_id) => client.v2.readPolicy({ params: { policy_id } }),
    search: async () =>
      client.pages('listOrganizationPolicies', {
        params: await organizationOf(invocation),
        query: { 'search[name]': given },
      }),
  })
}

export async function findPolicySet(
  invocation: Invocation,
  given: string,
): Promise<ItemOf<'listPolicySets'>> {
  const { client } = invocation
  return await findNamed({
    noun: 'policy set',
    given,
    prefix: 'polset',
    lists: 'reeve policy-set list',
    read: (policy_set_id) => client.v2.readPolicySet({ params: { policy_set_id } }),
    search: async () =>
      client.pages('listPolicySets', { params: await organizationOf(invocation) }),
  })
}

export async function findVariableSet(
  invocation: Invocation,
  given: string,
): Promise<ItemOf<'listVariableSets'>> {
  const { client } = invocation
  return await findNamed({
    noun: 'variable set',
    given,
    prefix: 'varset',
    lists: 'reeve varset list',
    read: (variable_set_id) => client.v2.readVariableSet({ params: { variable_set_id } }),
    search: async () =>
      client.pages('listVariableSets', {
        params: await organizationOf(invocation),
        query: { q: given },
      }),
  })
}
