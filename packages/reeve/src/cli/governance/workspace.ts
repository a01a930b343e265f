import { includedResources, type ItemOf, resource, toOne } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { confirm } from '../confirm.ts'
import { EXIT_CODES } from '../errors.ts'
import { renderNonEmptyFields } from '../output/format.ts'
import { findProject, findWorkspace } from './find.ts'
import { formatTags, parseTags, resolveOrganization, tagRelationship } from './flags.ts'
import { booleanFlag, enabledNames, omitUndefined, printList } from './output.ts'
import { listVariables, setVariables, unsetVariables, type VariableApi } from './variables.ts'

type Workspace = ItemOf<'listWorkspaces'>

export async function runWorkspaceList(invocation: CommandContext): Promise<number> {
  const { client, flags } = invocation
  const project = flags.string('project')
  const workspaces = client.pages('listWorkspaces', {
    params: await resolveOrganization(invocation),
    query: {
      'search[name]': flags.string('search'),
      'filter[project][id]':
        project === undefined ? undefined : (await findProject(invocation, project)).id,
    },
  })
  return await printList(invocation, workspaces, {
    heading: ['Name', 'Locked', 'Updated', 'ID', 'Description'],
    row: ({ id, attributes }) => [
      attributes.name,
      attributes.locked ? 'yes' : 'no',
      attributes['updated-at'],
      id,
      attributes.description ?? '',
    ],
    empty: 'There are no such workspaces. "reeve workspace create NAME" creates one.',
  })
}

export async function runWorkspaceShow(invocation: CommandContext): Promise<number> {
  const { id } = await findWorkspace(invocation, invocation.args[0] ?? '')
  return await printWorkspace(invocation, id)
}

/** Prints the current workspace with its effective tags. */
async function printWorkspace(invocation: CommandContext, id: string): Promise<number> {
  const { client, output } = invocation
  const { data } = await client.v2.readWorkspace({
    params: { workspace_id: id },
    query: { include: 'effective_tag_bindings,project' },
  })
  const tags = formatTags(includedResources(data, 'effective-tag-bindings'))
  const [project] = includedResources(data, 'projects')
  output.print(data, () =>
    workspaceText(data.data, { tags, project: project?.attributes.name ?? '' }),
  )
  return EXIT_CODES.ok
}

interface WorkspaceContext {
  readonly tags: string
  readonly project: string
}

function workspaceText(
  { id, attributes, relationships }: Workspace,
  around: WorkspaceContext,
): string {
  return renderNonEmptyFields([
    ['Name', attributes.name],
    ['ID', id],
    ['Project', around.project],
    ['Description', attributes.description ?? ''],
    ['Tags', around.tags],
    ['Locked', formatLock(attributes)],
    ['Confirms by itself', attributes['auto-apply'] ? 'yes' : 'no'],
    ['Idle time allowed', attributes['auto-destroy-activity-duration'] ?? ''],
    ['Marked for destruction at', attributes['auto-destroy-at'] ?? ''],
    ['Drift', formatDrift(attributes)],
    ['Latest run', relationships['latest-run'].data?.id ?? ''],
    ['Created', attributes['created-at']],
    ['Permissions', enabledNames(attributes.permissions)],
  ])
}

function formatDrift(attributes: Workspace['attributes']): string {
  const interval = attributes['drift-check-interval']
  const status = attributes['drift-status']
  if (interval === null && status === null) return ''
  const found = status === null ? 'not checked yet' : status
  return interval === null ? found : `${found}, checked every ${interval}`
}

function formatLock(attributes: Workspace['attributes']): string {
  if (!attributes.locked) return 'no'
  const reason = attributes['locked-reason']
  return reason === null || reason === '' ? 'yes' : `yes: ${reason}`
}

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
