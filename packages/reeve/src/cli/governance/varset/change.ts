import { resource, toMany, toOne } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { UsageError } from '../../failure.ts'
import { findProject, findVariableSet, findWorkspace } from '../find.ts'
import { organizationOf } from '../organization.ts'
import { given, switchOf } from '../texts.ts'
import { showVariableSet } from './varset.ts'

export async function runVarsetCreate(invocation: Invocation): Promise<number> {
  const { args, client, flags } = invocation
  const { workspaces, projects } = await memberIds(invocation)
  const owner = flags.text('owner')
  const relationships = given({
    parent:
      owner === undefined
        ? undefined
        : toOne('projects', (await findProject(invocation, owner)).id),
    workspaces: workspaces.length === 0 ? undefined : toMany('workspaces', workspaces),
    projects: projects.length === 0 ? undefined : toMany('projects', projects),
  })
  const attributes = { name: args[0] ?? '', ...settingsOf(invocation) }
  const { data } = await client.v2.createVariableSet({
    params: await organizationOf(invocation),
    body: resource('varsets', attributes, relationships),
  })
  return await showVariableSet(invocation, data.data.id)
}

export async function runVarsetUpdate(invocation: Invocation): Promise<number> {
  const { args, client, flags } = invocation
  const { id } = await findVariableSet(invocation, args[0] ?? '')
  const attributes = given({ name: flags.text('name'), ...settingsOf(invocation) })
  await client.v2.updateVariableSet({
    params: { variable_set_id: id },
    body: resource('varsets', attributes),
  })
  return await showVariableSet(invocation, id)
}

function settingsOf(invocation: Invocation) {
  return given({
    description: invocation.flags.text('description'),
    global: switchOf(invocation, 'global'),
    priority: switchOf(invocation, 'priority'),
  })
}

export async function runVarsetDelete(invocation: Invocation): Promise<number> {
  const { id, attributes } = await findVariableSet(invocation, invocation.args[0] ?? '')
  await confirm(invocation, `Delete variable set "${attributes.name}" with its variables?`)
  await invocation.client.v2.deleteVariableSet({ params: { variable_set_id: id } })
  invocation.output.say(`Variable set "${attributes.name}" is deleted.`)
  return EXIT_CODES.ok
}

export async function runVarsetAdd(invocation: Invocation): Promise<number> {
  const { v2: api } = invocation.client
  return await change(invocation, {
    workspaces: api.addVariableSetWorkspaces,
    projects: api.addVariableSetProjects,
  })
}

export async function runVarsetRemove(invocation: Invocation): Promise<number> {
  const { v2: api } = invocation.client
  return await change(invocation, {
    workspaces: api.removeVariableSetWorkspaces,
    projects: api.removeVariableSetProjects,
  })
}

type Api = Invocation['client']['v2']

interface MemberCalls {
  readonly workspaces: Api['addVariableSetWorkspaces'] | Api['removeVariableSetWorkspaces']
  readonly projects: Api['addVariableSetProjects'] | Api['removeVariableSetProjects']
}

async function change(invocation: Invocation, calls: MemberCalls): Promise<number> {
  const { id } = await findVariableSet(invocation, invocation.args[0] ?? '')
  const { workspaces, projects } = await memberIds(invocation)
  if (workspaces.length + projects.length === 0)
    throw new UsageError('Name workspaces or projects with --workspace or --project.')
  const params = { variable_set_id: id }
  if (workspaces.length > 0)
    await calls.workspaces({ params, body: toMany('workspaces', workspaces) })
  if (projects.length > 0) await calls.projects({ params, body: toMany('projects', projects) })
  return await showVariableSet(invocation, id)
}

async function memberIds(invocation: Invocation) {
  const { flags } = invocation
  const idsOf = async (
    flag: string,
    find: (invocation: Invocation, given: string) => Promise<{ readonly id: string }>,
  ): Promise<readonly string[]> =>
    (await Promise.all(flags.texts(flag).map((name) => find(invocation, name)))).map(({ id }) => id)
  return {
    workspaces: await idsOf('workspace', findWorkspace),
    projects: await idsOf('project', findProject),
  }
}
