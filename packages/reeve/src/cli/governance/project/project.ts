import { includedResources, type ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { renderNonEmptyFields } from '../../output/known-fields.ts'
import { findProject } from '../find.ts'
import { resolveOrganization } from '../organization.ts'
import { formatTags } from '../tags.ts'
import { enabledNames, printList } from '../texts.ts'

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
    empty: 'There are no such projects. "reeve project create NAME" makes one.',
  })
}

export async function runProjectShow(invocation: CommandContext): Promise<number> {
  const { id } = await findProject(invocation, invocation.args[0] ?? '')
  return await printProject(invocation, id)
}

type Project = ItemOf<'listProjects'>

/** Prints the current project with its effective tags. */
export async function printProject(invocation: CommandContext, projectId: string): Promise<number> {
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
