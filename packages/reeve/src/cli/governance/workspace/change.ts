import { resource, toOne } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { findProject, findWorkspace } from '../find.ts'
import { resolveOrganization } from '../organization.ts'
import { parseTags, tagRelationship } from '../tags.ts'
import { omitUndefined, booleanFlag } from '../texts.ts'
import { printWorkspace } from './workspace.ts'

export async function runWorkspaceCreate(invocation: CommandContext): Promise<number> {
  const { args, client } = invocation
  const attributes = { name: args[0] ?? '', ...settingsOf(invocation) }
  const { data } = await client.v2.createWorkspace({
    params: await resolveOrganization(invocation),
    body: resource('workspaces', attributes, await relationshipsOf(invocation)),
  })
  return await printWorkspace(invocation, data.data.id)
}

export async function runWorkspaceUpdate(invocation: CommandContext): Promise<number> {
  const { args, client, flags } = invocation
  const { id } = await findWorkspace(invocation, args[0] ?? '')
  const attributes = omitUndefined({ name: flags.string('name'), ...settingsOf(invocation) })
  await client.v2.updateWorkspace({
    params: { workspace_id: id },
    body: resource('workspaces', attributes, await relationshipsOf(invocation)),
  })
  return await printWorkspace(invocation, id)
}

function settingsOf(invocation: CommandContext) {
  const { flags } = invocation
  const duration = flags.string('auto-destroy')
  const driftInterval = flags.string('check-drift')
  return omitUndefined({
    description: flags.string('description'),
    'auto-apply': booleanFlag(invocation, 'auto-apply'),
    'auto-destroy-activity-duration': duration === '' ? null : duration,
    'drift-check-interval': driftInterval === '' ? null : driftInterval,
    'inherits-project-auto-destroy': booleanFlag(invocation, 'inherit-auto-destroy'),
  })
}

async function relationshipsOf(invocation: CommandContext) {
  const project = invocation.flags.string('project')
  const tags = tagRelationship(invocation)
  if (project === undefined) return tags
  return { ...tags, project: toOne('projects', (await findProject(invocation, project)).id) }
}

export async function runWorkspaceDelete(invocation: CommandContext): Promise<number> {
  const { client, flags, output } = invocation
  const { id, attributes } = await findWorkspace(invocation, invocation.args[0] ?? '')
  await confirm(invocation, `Delete workspace "${attributes.name}"?`)
  const params = { workspace_id: id }
  if (flags.has('safe')) await client.v2.safeDeleteWorkspace({ params })
  else await client.v2.deleteWorkspace({ params })
  output.printLine(`Workspace "${attributes.name}" is deleted.`)
  return EXIT_CODES.ok
}

export async function runWorkspaceLock(invocation: CommandContext): Promise<number> {
  const { client, flags } = invocation
  const { id } = await findWorkspace(invocation, invocation.args[0] ?? '')
  const body = omitUndefined({ reason: flags.string('reason') })
  await client.v2.lockWorkspace({ params: { workspace_id: id }, body })
  return await printWorkspace(invocation, id)
}

export async function runWorkspaceUnlock(invocation: CommandContext): Promise<number> {
  const { client, flags } = invocation
  const { id } = await findWorkspace(invocation, invocation.args[0] ?? '')
  const params = { workspace_id: id }
  if (flags.has('force')) await client.v2.forceUnlockWorkspace({ params })
  else await client.v2.unlockWorkspace({ params })
  return await printWorkspace(invocation, id)
}

export async function runWorkspaceTag(invocation: CommandContext): Promise<number> {
  const [name = '', ...tags] = invocation.args
  const { id } = await findWorkspace(invocation, name)
  await invocation.client.v2.updateWorkspaceTagBindings({
    params: { workspace_id: id },
    body: { data: [...parseTags(tags)] },
  })
  return await printWorkspace(invocation, id)
}
