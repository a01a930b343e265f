import { resource, toMany } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { findProject, findWorkspace } from '../find.ts'
import { organizationOf } from '../organization.ts'
import { newTags, tagRelationship } from '../tags.ts'
import { given } from '../texts.ts'
import { showProject } from './project.ts'

export async function runProjectCreate(invocation: Invocation): Promise<number> {
  const { args, client } = invocation
  const attributes = { name: args[0] ?? '', ...settingsOf(invocation) }
  const { data } = await client.v2.createProject({
    params: await organizationOf(invocation),
    body: resource('projects', attributes, tagRelationship(invocation)),
  })
  return await showProject(invocation, data.data.id)
}

export async function runProjectUpdate(invocation: Invocation): Promise<number> {
  const { args, client, flags } = invocation
  const { id } = await findProject(invocation, args[0] ?? '')
  const attributes = given({ name: flags.text('name'), ...settingsOf(invocation) })
  await client.v2.updateProject({
    params: { project_id: id },
    body: resource('projects', attributes, tagRelationship(invocation)),
  })
  return await showProject(invocation, id)
}

function settingsOf({ flags }: Invocation) {
  const duration = flags.text('auto-destroy')
  return given({
    description: flags.text('description'),
    'auto-destroy-activity-duration': duration === '' ? null : duration,
  })
}

export async function runProjectDelete(invocation: Invocation): Promise<number> {
  const { client, flags, output } = invocation
  const { id, attributes } = await findProject(invocation, invocation.args[0] ?? '')
  const force = flags.has('force')
  const what = `project "${attributes.name}"${force ? ' with its workspaces' : ''}`
  await confirm(invocation, `Delete ${what}?`)
  await client.v2.deleteProject({ params: { project_id: id }, query: { force } })
  output.say(`Project "${attributes.name}" is deleted.`)
  return EXIT_CODES.ok
}

export async function runProjectTag(invocation: Invocation): Promise<number> {
  const [name = '', ...tags] = invocation.args
  const { id } = await findProject(invocation, name)
  await invocation.client.v2.updateProjectTagBindings({
    params: { project_id: id },
    body: { data: [...newTags(tags)] },
  })
  return await showProject(invocation, id)
}

export async function runProjectMove(invocation: Invocation): Promise<number> {
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
  output.say(`Now in project "${attributes.name}": ${moved}.`)
  return EXIT_CODES.ok
}
