import { included, resource, type ItemOf } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { knownFields } from '../../output/known-fields.ts'
import { findVariableSet, findWorkspace } from '../find.ts'
import { organizationOf } from '../organization.ts'
import { showList } from '../texts.ts'
import { setVariables, unsetVariables, valueText, type VariableCalls } from '../variables.ts'

type VariableSet = ItemOf<'listVariableSets'>

export async function runVarsetList(invocation: Invocation): Promise<number> {
  const { flags } = invocation
  return await showList(invocation, await setsOf(invocation, flags.text('workspace')), {
    heading: ['Name', 'Variables', 'Applies to', 'Priority', 'ID'],
    row: (set) => [
      set.attributes.name,
      String(set.attributes['var-count']),
      scopeText(set),
      set.attributes.priority ? 'yes' : 'no',
      set.id,
    ],
    empty: 'There are no such variable sets. "reeve varset create NAME" creates one.',
  })
}

async function setsOf(
  invocation: Invocation,
  workspace: string | undefined,
): Promise<AsyncIterable<VariableSet>> {
  const { client, flags } = invocation
  if (workspace === undefined)
    return client.pages('listVariableSets', {
      params: await organizationOf(invocation),
      query: { q: flags.text('search') },
    })
  const { id } = await findWorkspace(invocation, workspace)
  return client.pages('listWorkspaceVariableSets', { params: { workspace_id: id } })
}

function scopeText({ attributes }: VariableSet): string {
  if (attributes.global) return 'all workspaces'
  const parts = [
    countText(attributes['project-count'], 'project'),
    countText(attributes['workspace-count'], 'workspace'),
  ].filter((part) => part !== '')
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}

function countText(count: number, noun: string): string {
  return count === 0 ? '' : `${count} ${count === 1 ? noun : `${noun}s`}`
}

export async function runVarsetShow(invocation: Invocation): Promise<number> {
  const { id } = await findVariableSet(invocation, invocation.args[0] ?? '')
  return await showVariableSet(invocation, id)
}

/** As it is now, with the names of its members and its variables. */
export async function showVariableSet(invocation: Invocation, id: string): Promise<number> {
  const { client, output } = invocation
  const { data } = await client.v2.readVariableSet({
    params: { variable_set_id: id },
    query: { include: 'workspaces,projects,vars' },
  })
  const { attributes, relationships } = data.data
  const namesOf = (type: 'workspaces' | 'projects'): string => {
    const named = new Map(included(data, type).map((one) => [one.id, one.attributes.name]))
    return relationships[type].data.map((one) => named.get(one.id) ?? one.id).join(', ')
  }
  const variables = included(data, 'vars').map(
    (one) => `${one.attributes.key}=${valueText(one.attributes)}`,
  )
  output.show(data, () =>
    knownFields([
      ['Name', attributes.name],
      ['ID', id],
      ['Description', attributes.description ?? ''],
      ['Owner', ownerText(data.data)],
      ['Applies to', scopeText(data.data)],
      ['Projects', namesOf('projects')],
      ['Workspaces', namesOf('workspaces')],
      ['Priority', attributes.priority ? 'yes' : 'no'],
      ['Variables', variables.join(', ')],
    ]),
  )
  return EXIT_CODES.ok
}

function ownerText({ relationships }: VariableSet): string {
  const { type, id } = relationships.parent.data
  return type === 'projects' ? `project ${id}` : `organization ${id}`
}

export async function runVarsetSet(invocation: Invocation): Promise<number> {
  return await setVariables(invocation, await callsOf(invocation), invocation.args.slice(1))
}

export async function runVarsetUnset(invocation: Invocation): Promise<number> {
  return await unsetVariables(invocation, await callsOf(invocation), invocation.args.slice(1))
}

async function callsOf(invocation: Invocation): Promise<VariableCalls> {
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
