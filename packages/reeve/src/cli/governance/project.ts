import { includedResources, type ItemOf, resource, toMany } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { confirm } from '../confirm.ts'
import { EXIT_CODES } from '../errors.ts'
import { renderNonEmptyFields } from '../output/format.ts'
import { findProject, findWorkspace } from './find.ts'
import { formatTags, parseTags, resolveOrganization, tagRelationship } from './flags.ts'
import { enabledNames, omitUndefined, printList } from './output.ts'

export async function runProjectList(invocation: CommandContext): Promise<number> {
  const { client, flags } = invocation
  const projects = client.pages('listProjects', {
    params: await resolveOrganization(invocation),
    query: { q: flags.string('search') },
  })
  return await printList(invocation, projects, {
    heading: ['Name', 'Workspaces', 'Teams', 'ID', 'Description'],
    row: ({ id, attributes }) => [
      attributes.name,
      String(attributes['workspace-count']),
      String(attributes['team-count']),
      id,
      attributes.description ?? '',
    ],
    empty: 'There are no such projects. "reeve project create NAME" creates one.',
  })
}

export async function runProjectShow(invocation: CommandContext): Promise<number> {
  const { id } = await findProject(invocation, invocation.args[0] ?? '')
  return await printProject(invocation, id)
}

type Project = ItemOf<'listProjects'>

/** Prints the current project with its effective tags. */
async function printProject(invocation: CommandContext, projectId: string): Promise<number> {
  const { client, output } = invocation
  const { data } = await client.v2.readProject({
    params: { project_id: projectId },
    query: { include: 'effective_tag_bindings' },
  })
  const tags = formatTags(includedResources(data, 'effective-tag-bindings'))
  output.print(data, () => projectText(data.data, tags))
  return EXIT_CODES.ok
}

function projectText({ id, attributes }: Project, tags: string): string {
  return renderNonEmptyFields([
    ['Name', attributes.name],
    ['ID', id],
    ['Description', attributes.description ?? ''],
    ['Default', attributes['is-default'] ? 'yes' : 'no'],
    ['Tags', tags],
    ['Workspaces', String(attributes['workspace-count'])],
    ['Teams', String(attributes['team-count'])],
    ['Idle workspaces go after', attributes['auto-destroy-activity-duration'] ?? ''],
    ['Created', attributes['created-at']],
    ['Permissions', enabledNames(attributes.permissions)],
  ])
}

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

/** `project namespaces PROJECT`: assigns and unassigns namespaces and lists the result. */
export async function runProjectNamespaces(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const { id, attributes } = await findProject(invocation, args[0] ?? '')
  const params = { project_id: id }
  const [added, removed] = [flags.strings('add'), flags.strings('remove')]
  if (added.length > 0) {
    await client.v2.addProjectNamespaces({ params, body: toMany('namespaces', added) })
  }
  if (removed.length > 0) {
    await client.v2.removeProjectNamespaces({ params, body: toMany('namespaces', removed) })
  }
  const { data } = await client.v2.listProjectNamespaces({ params })
  output.print(data, () => {
    const names = data.data.map((namespace) => namespace.id)
    return names.length === 0
      ? `No namespace belongs to project "${attributes.name}".`
      : names.join('\n')
  })
  return EXIT_CODES.ok
}
