import type { ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { resolveOne } from '../resolve.ts'
import { resolveOrganization } from './flags.ts'

interface NamedResource {
  readonly id: string
  readonly attributes: { readonly name: string }
}

interface NamedSearch<T> {
  readonly noun: string
  /** The ID or name from the command line. */
  readonly input: string
  /** The prefix of IDs of this kind. */
  readonly idPrefix: string
  /** The command that lists all resources of the kind. */
  readonly listCommand: string
  readonly read: (id: string) => Promise<{ readonly data: { readonly data: T } }>
  /** Lists resources whose name contains the text. */
  readonly search: () => Promise<AsyncIterable<T>>
}

/** Finds the resource with the ID or name. Names are compared case-insensitively. */
async function findByIdOrName<T extends NamedResource>(options: NamedSearch<T>): Promise<T> {
  const { noun, input, idPrefix, listCommand, read, search } = options
  if (input.startsWith(`${idPrefix}-`)) return (await read(input)).data.data
  const found: T[] = []
  const wanted = input.toLowerCase()
  for await (const one of await search()) {
    if (one.attributes.name.toLowerCase() === wanted) found.push(one)
  }
  return resolveOne({
    noun,
    input,
    matches: found,
    listCommand,
    idOf: ({ attributes }) => attributes.name,
    describe: ({ id, attributes }) => `${id}  ${attributes.name}`,
  })
}

export async function findProject(
  invocation: CommandContext,
  given: string,
): Promise<ItemOf<'listProjects'>> {
  const { client } = invocation
  return await findByIdOrName({
    noun: 'project',
    input: given,
    idPrefix: 'prj',
    listCommand: 'reeve project list',
    read: (project_id) => client.v2.readProject({ params: { project_id } }),
    search: async () =>
      client.pages('listProjects', {
        params: await resolveOrganization(invocation),
        query: { 'filter[names]': given },
      }),
  })
}

export async function findWorkspace(
  invocation: CommandContext,
  given: string,
): Promise<ItemOf<'listWorkspaces'>> {
  const { client } = invocation
  return await findByIdOrName({
    noun: 'workspace',
    input: given,
    idPrefix: 'ws',
    listCommand: 'reeve workspace list',
    read: (workspace_id) => client.v2.readWorkspace({ params: { workspace_id } }),
    search: async () =>
      client.pages('listWorkspaces', {
        params: await resolveOrganization(invocation),
        query: { 'search[name]': given },
      }),
  })
}

export async function findTeam(
  invocation: CommandContext,
  given: string,
): Promise<ItemOf<'listTeams'>> {
  const { client } = invocation
  return await findByIdOrName({
    noun: 'team',
    input: given,
    idPrefix: 'team',
    listCommand: 'reeve team list',
    read: (team_id) => client.v2.readTeam({ params: { team_id } }),
    search: async () =>
      client.pages('listTeams', { params: await resolveOrganization(invocation) }),
  })
}

export async function findPolicy(
  invocation: CommandContext,
  given: string,
): Promise<ItemOf<'listOrganizationPolicies'>> {
  const { client } = invocation
  return await findByIdOrName({
    noun: 'policy',
    input: given,
    idPrefix: 'pol',
    listCommand: 'reeve policy list',
    read: (policy_id) => client.v2.readPolicy({ params: { policy_id } }),
    search: async () =>
      client.pages('listOrganizationPolicies', {
        params: await resolveOrganization(invocation),
        query: { 'search[name]': given },
      }),
  })
}

export async function findPolicySet(
  invocation: CommandContext,
  given: string,
): Promise<ItemOf<'listPolicySets'>> {
  const { client } = invocation
  return await findByIdOrName({
    noun: 'policy set',
    input: given,
    idPrefix: 'polset',
    listCommand: 'reeve policy-set list',
    read: (policy_set_id) => client.v2.readPolicySet({ params: { policy_set_id } }),
    search: async () =>
      client.pages('listPolicySets', { params: await resolveOrganization(invocation) }),
  })
}

export async function findVariableSet(
  invocation: CommandContext,
  given: string,
): Promise<ItemOf<'listVariableSets'>> {
  const { client } = invocation
  return await findByIdOrName({
    noun: 'variable set',
    input: given,
    idPrefix: 'varset',
    listCommand: 'reeve varset list',
    read: (variable_set_id) => client.v2.readVariableSet({ params: { variable_set_id } }),
    search: async () =>
      client.pages('listVariableSets', {
        params: await resolveOrganization(invocation),
        query: { q: given },
      }),
  })
}
