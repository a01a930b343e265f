import { resource, toMany } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { findProject, findWorkspace } from '../find.ts'
import { resolveOrganization } from '../organization.ts'
import { parseTags, tagRelationship } from '../tags.ts'
import { omitUndefined } from '../texts.ts'
import { printProject } from './project.ts'

export async function runProjectCreate(invocation: CommandContext): Promise<number> {
  const { args, client } = invocation
  const attributes = { name: args[0] ?? '', ...settingsOf(invocation) }
  const { data } = await client.v2.createProject({
    params: await resolveOrganization(invocation),
    body: resource('projects', attributes, tagRelationship(invocation)),
  })
  return await printProject(invocation, data.data.id)
}

export async function runProjectUpdate(invocation: CommandContext): Promise<number> {
  const { args, client, flags } = invocation
  const { id } = await findProject(invocation, args[0] ?? '')
  const attributes = omitUndefined({ name: flags.string('name'), ...settingsOf(invocation) })
  await client.v2.updateProject({
    params: { project_id: id },
    body: resource('projects', attributes, tagRelationship(invocation)),
  })
  return await printProject(invocation, id)
}

function settingsOf({ flags }: CommandContext) {
  const duration = flags.string('auto-destroy')
  return omitUndefined({
    description: flags.string('description'),
    'auto-destroy-activity-duration': duration === '' ? null : duration,
  })
}

export async function runProjectDelete(invocation: CommandContext): Promise<number> {
  const { client, flags, output } = invocation
  const { id, attributes } = await findProject(invocation, invocation.args[0] ?? '')
  const force = flags.has('force')
  const what = `project "${attributes.name}"${force ? ' with its workspaces' : ''}`
  await confirm(invocation, `Delete ${what}?`)
  await client.v2.deleteProject({ params: { project_id: id }, query: { force } })
  output.printLine(`Project "${attributes.name}" is deleted.`)
  return EXIT_CODES.ok
}

export async function runProjectTag(invocation: CommandContext): Promise<number> {
  const [name = '', ...tags] = invocation.args
  const { id } = await findProject(invocation, name)
  await invocation.client.v2.updateProjectTagBindings({
    params: { project_id: id },
    body: { data: [...parseTags(tags)] },
  })
  return await printProject(invocation, id)
}

export async function runProjectMove(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const [name = '', ...names] = invocation.args
  const { id, attributes } = await findProject(invocation, name)
  const workspaces = await Promise.all(names.map((one) => findWorkspace(invocation, one)))
  await client.v2.moveWorkspaces({
    params: { project_id: id },
    body: toMany(
      'workspaces',
      workspaces.map((workspace) => workspace.id),
    ),
  })
  const moved = workspaces.map((workspace) => `"${workspace.attributes.name}"`).join(', ')
  output.printLine(`Now in project "${attributes.name}": ${moved}.`)
  return EXIT_CODES.ok
}
