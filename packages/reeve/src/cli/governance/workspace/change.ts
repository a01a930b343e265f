import { resource, toOne } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { findProject, findWorkspace } from '../find.ts'
import { organizationOf } from '../organization.ts'
import { newTags, tagRelationship } from '../tags.ts'
import { given, switchOf } from '../texts.ts'
import { showWorkspace } from './workspace.ts'

export async function runWorkspaceCreate(invocation: Invocation): Promise<number> {
  const { args, client } = invocation
  const attributes = { name: args[0] ?? '', ...settingsOf(invocation) }
  const { data } = await client.v2.createWorkspace({
    params: await organizationOf(invocation),
    body: resource('workspaces', attributes, await relationshipsOf(invocation)),
  })
  return await showWorkspace(invocation, data.data.id)
}

export async function runWorkspaceUpdate(invocation: Invocation): Promise<number> {
  const { args, client, flags } = invocation
  const { id } = await findWorkspace(invocation, args[0] ?? '')
  const attributes = given({ name: flags.text('name'), ...settingsOf(invocation) })
  await client.v2.updateWorkspace({
    params: { workspace_id: id },
    body: resource('workspaces', attributes, await relationshipsOf(invocation)),
  })
  return await showWorkspace(invocation, id)
}

function settingsOf(invocation: Invocation) {
  const { flags } = invocation
  const duration = flags.text('auto-destroy')
  const driftInterval = flags.text('check-drift')
  return given({
    description: flags.text('description'),
    'auto-apply': switchOf(invocation, 'auto-apply'),
    'auto-destroy-activity-duration': duration === '' ? null : duration,
    'drift-check-interval': driftInterval === '' ? null : driftInterval,
    'inherits-project-auto-destroy': switchOf(invocation, 'inherit-auto-destroy'),
  })
}

async function relationshipsOf(invocation: Invocation) {
  const project = invocation.flags.text('project')
  const tags = tagRelationship(invocation)
  if (project === undefined) return tags
  return { ...tags, project: toOne('projects', (await findProject(invocation, project)).id) }
}

export async function runWorkspaceDelete(invocation: Invocation): Promise<number> {
  const { client, flags, output } = invocation
  const { id, attributes } = await findWorkspace(invocation, invocation.args[0] ?? '')
  await confirm(invocation, `Delete workspace "${attributes.name}"?`)
  const params = { workspace_id: id }
  if (flags.has('safe')) await client.v2.safeDeleteWorkspace({ params })
  else await client.v2.deleteWorkspace({ params })
  output.say(`Workspace "${attributes.name}" is deleted.`)
  return EXIT_CODES.ok
}

export async function runWorkspaceLock(invocation: Invocation): Promise<number> {
  const { client, flags } = invocation
  const { id } = await findWorkspace(invocation, invocation.args[0] ?? '')
  const body = given({ reason: flags.text('reason') })
  await client.v2.lockWorkspace({ params: { workspace_id: id }, body })
  return await showWorkspace(invocation, id)
}

export async function runWorkspaceUnlock(invocation: Invocation): Promise<number> {
  const { client, flags } = invocation
  const { id } = await findWorkspace(invocation, invocation.args[0] ?? '')
  const params = { workspace_id: id }
  if (flags.has('force')) await client.v2.forceUnlockWorkspace({ params })
  else await client.v2.unlockWorkspace({ params })
  return await showWorkspace(invocation, id)
}

export async function runWorkspaceTag(invocation: Invocation): Promise<number> {
  const [name = '', ...tags] = invocation.args
  const { id } = await findWorkspace(invocation, name)
  await invocation.client.v2.updateWorkspaceTagBindings({
    params: { workspace_id: id },
    body: { data: [...newTags(tags)] },
  })
  return await showWorkspace(invocation, id)
}
