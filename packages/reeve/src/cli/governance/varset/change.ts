import { resource, toMany, toOne } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { UsageError } from '../../failure.ts'
import { findProject, findVariableSet, findWorkspace } from '../find.ts'
import { resolveOrganization } from '../organization.ts'
import { omitUndefined, booleanFlag } from '../texts.ts'
import { printVariableSet } from './varset.ts'

export async function runVarsetCreate(invocation: CommandContext): Promise<number> {
  const { args, client, flags } = invocation
  const { workspaces, projects } = await resolveMemberIds(invocation)
  const owner = flags.string('owner')
  const relationships = omitUndefined({
    parent:
      owner === undefined
        ? undefined
        : toOne('projects', (await findProject(invocation, owner)).id),
    workspaces: workspaces.length === 0 ? undefined : toMany('workspaces', workspaces),
    projects: projects.length === 0 ? undefined : toMany('projects', projects),
  })
  const attributes = { name: args[0] ?? '', ...settingsOf(invocation) }
  const { data } = await client.v2.createVariableSet({
    params: await resolveOrganization(invocation),
    body: resource('varsets', attributes, relationships),
  })
  return await printVariableSet(invocation, data.data.id)
}

export async function runVarsetUpdate(invocation: CommandContext): Promise<number> {
  const { args, client, flags } = invocation
  const { id } = await findVariableSet(invocation, args[0] ?? '')
  const attributes = omitUndefined({ name: flags.string('name'), ...settingsOf(invocation) })
  await client.v2.updateVariableSet({
    params: { variable_set_id: id },
    body: resource('varsets', attributes),
  })
  return await printVariableSet(invocation, id)
}

function settingsOf(invocation: CommandContext) {
  return omitUndefined({
    description: invocation.flags.string('description'),
    global: booleanFlag(invocation, 'global'),
    priority: booleanFlag(invocation, 'priority'),
  })
}

export async function runVarsetDelete(invocation: CommandContext): Promise<number> {
  const { id, attributes } = await findVariableSet(invocation, invocation.args[0] ?? '')
  await confirm(invocation, `Delete variable set "${attributes.name}" with its variables?`)
  await invocation.client.v2.deleteVariableSet({ params: { variable_set_id: id } })
  invocation.output.printLine(`Variable set "${attributes.name}" is deleted.`)
  return EXIT_CODES.ok
}

export async function runVarsetAdd(invocation: CommandContext): Promise<number> {
  const { v2: api } = invocation.client
  return await changeMembers(invocation, {
    workspaces: api.addVariableSetWorkspaces,
    projects: api.addVariableSetProjects,
  })
}

export async function runVarsetRemove(invocation: CommandContext): Promise<number> {
  const { v2: api } = invocation.client
  return await changeMembers(invocation, {
    workspaces: api.removeVariableSetWorkspaces,
    projects: api.removeVariableSetProjects,
  })
}

type Api = CommandContext['client']['v2']

interface MembershipCalls {
  readonly workspaces: Api['addVariableSetWorkspaces'] | Api['removeVariableSetWorkspaces']
  readonly projects: Api['addVariableSetProjects'] | Api['removeVariableSetProjects']
}

async function changeMembers(invocation: CommandContext, calls: MembershipCalls): Promise<number> {
  const { id } = await findVariableSet(invocation, invocation.args[0] ?? '')
  const { workspaces, projects } = await resolveMemberIds(invocation)
  if (workspaces.length + projects.length === 0)
    throw new UsageError('Name workspaces or projects with --workspace or --project.')
  const params = { variable_set_id: id }
  if (workspaces.length > 0)
    await calls.workspaces({ params, body: toMany('workspaces', workspaces) })
  if (projects.length > 0) await calls.projects({ params, body: toMany('projects', projects) })
  return await printVariableSet(invocation, id)
}

async function resolveMemberIds(invocation: CommandContext) {
  const { flags } = invocation
  const idsOf = async (
    flag: string,
    find: (invocation: CommandContext, given: string) => Promise<{ readonly id: string }>,
  ): Promise<readonly string[]> =>
    (await Promise.all(flags.strings(flag).map((name) => find(invocation, name)))).map(
      ({ id }) => id,
    )
  return {
    workspaces: await idsOf('workspace', findWorkspace),
    projects: await idsOf('project', findProject),
  }
}
