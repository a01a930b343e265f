import { includedResources, resource, type ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { renderNonEmptyFields } from '../../output/known-fields.ts'
import { findVariableSet, findWorkspace } from '../find.ts'
import { resolveOrganization } from '../organization.ts'
import { printList } from '../texts.ts'
import { setVariables, unsetVariables, formatValue, type VariableApi } from '../variables.ts'

type VariableSet = ItemOf<'listVariableSets'>

export async function runVarsetList(invocation: CommandContext): Promise<number> {
  const { flags } = invocation
  return await printList(
    invocation,
    await listVariableSets(invocation, flags.string('workspace')),
    {
      heading: ['Name', 'Variables', 'Applies to', 'Priority', 'ID'],
      row: (set) => [
        set.attributes.name,
        String(set.attributes['var-count']),
        formatScope(set),
        set.attributes.priority ? 'yes' : 'no',
        set.id,
      ],
      empty: 'There are no such variable sets. "reeve varset create NAME" creates one.',
    },
  )
}

async function listVariableSets(
  invocation: CommandContext,
  workspace: string | undefined,
): Promise<AsyncIterable<VariableSet>> {
  const { client, flags } = invocation
  if (workspace === undefined)
    return client.pages('listVariableSets', {
      params: await resolveOrganization(invocation),
      query: { q: flags.string('search') },
    })
  const { id } = await findWorkspace(invocation, workspace)
  return client.pages('listWorkspaceVariableSets', { params: { workspace_id: id } })
}

function formatScope({ attributes }: VariableSet): string {
  if (attributes.global) return 'all workspaces'
  const parts = [
    formatCount(attributes['project-count'], 'project'),
    formatCount(attributes['workspace-count'], 'workspace'),
  ].filter((part) => part !== '')
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}

function formatCount(count: number, noun: string): string {
  return count === 0 ? '' : `${count} ${count === 1 ? noun : `${noun}s`}`
}

export async function runVarsetShow(invocation: CommandContext): Promise<number> {
  const { id } = await findVariableSet(invocation, invocation.args[0] ?? '')
  return await printVariableSet(invocation, id)
}

/** Prints the current variable set with its scope and variables. */
export async function printVariableSet(invocation: CommandContext, id: string): Promise<number> {
  const { client, output } = invocation
  const { data } = await client.v2.readVariableSet({
    params: { variable_set_id: id },
    query: { include: 'workspaces,projects,vars' },
  })
  const { attributes, relationships } = data.data
  const namesOf = (type: 'workspaces' | 'projects'): string => {
    const named = new Map(includedResources(data, type).map((one) => [one.id, one.attributes.name]))
    return relationships[type].data.map((one) => named.get(one.id) ?? one.id).join(', ')
  }
  const variables = includedResources(data, 'vars').map(
    (one) => `${one.attributes.key}=${formatValue(one.attributes)}`,
  )
  output.print(data, () =>
    renderNonEmptyFields([
      ['Name', attributes.name],
      ['ID', id],
      ['Description', attributes.description ?? ''],
      ['Owner', formatOwner(data.data)],
      ['Applies to', formatScope(data.data)],
      ['Projects', namesOf('projects')],
      ['Workspaces', namesOf('workspaces')],
      ['Priority', attributes.priority ? 'yes' : 'no'],
      ['Variables', variables.join(', ')],
    ]),
  )
  return EXIT_CODES.ok
}

function formatOwner({ relationships }: VariableSet): string {
  const { type, id } = relationships.parent.data
  return type === 'projects' ? `project ${id}` : `organization ${id}`
}

export async function runVarsetSet(invocation: CommandContext): Promise<number> {
  return await setVariables(invocation, await variableApi(invocation), invocation.args.slice(1))
}

export async function runVarsetUnset(invocation: CommandContext): Promise<number> {
  return await unsetVariables(invocation, await variableApi(invocation), invocation.args.slice(1))
}

async function variableApi(invocation: CommandContext): Promise<VariableApi> {
  const { v2: api } = invocation.client
  const { id } = await findVariableSet(invocation, invocation.args[0] ?? '')
  const params = { variable_set_id: id }
  const one = (set_variable_id: string) => ({ ...params, set_variable_id })
  return {
    owner: 'The variable set',
    list: async () => (await api.listVariableSetVariables({ params })).data.data,
    create: (attributes) =>
      api.createVariableSetVariable({ params, body: resource('vars', attributes) }),
    update: (variable, attributes) =>
      api.updateVariableSetVariable({ params: one(variable), body: resource('vars', attributes) }),
    delete: (variable) => api.deleteVariableSetVariable({ params: one(variable) }),
  }
}
