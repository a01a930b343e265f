import { resource } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { findWorkspace } from '../find.ts'
import { listVariables, setVariables, unsetVariables, type VariableApi } from '../variables.ts'

export async function runWorkspaceVariableList(invocation: CommandContext): Promise<number> {
  const { client, flags } = invocation
  const calls = await variableApi(invocation)
  if (!flags.has('all')) return await listVariables(invocation, calls)
  const { id } = await findWorkspace(invocation, invocation.args[0] ?? '')
  const list = async () =>
    (await client.v2.listAllWorkspaceVariables({ params: { workspace_id: id } })).data.data
  return await listVariables(invocation, { ...calls, list })
}

export async function runWorkspaceVariableSet(invocation: CommandContext): Promise<number> {
  return await setVariables(invocation, await variableApi(invocation), invocation.args.slice(1))
}

export async function runWorkspaceVariableUnset(invocation: CommandContext): Promise<number> {
  return await unsetVariables(invocation, await variableApi(invocation), invocation.args.slice(1))
}

async function variableApi(invocation: CommandContext): Promise<VariableApi> {
  const { v2: api } = invocation.client
  const { id } = await findWorkspace(invocation, invocation.args[0] ?? '')
  const params = { workspace_id: id }
  const one = (variable_id: string) => ({ ...params, variable_id })
  return {
    owner: 'The workspace',
    list: async () => (await api.listWorkspaceVariables({ params })).data.data,
    create: (attributes) =>
      api.createWorkspaceVariable({ params, body: resource('vars', attributes) }),
    update: (variable, attributes) =>
      api.updateWorkspaceVariable({ params: one(variable), body: resource('vars', attributes) }),
    delete: (variable) => api.deleteWorkspaceVariable({ params: one(variable) }),
  }
}
