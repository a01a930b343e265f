import { included, type ItemOf } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { knownFields } from '../../output/known-fields.ts'
import { findProject } from '../find.ts'
import { organizationOf } from '../organization.ts'
import { tagsText } from '../tags.ts'
import { onText, showList } from '../texts.ts'

export async function runProjectList(invocation: Invocation): Promise<number> {
  const { client, flags } = invocation
  const projects = client.pages('listProjects', {
    params: await organizationOf(invocation),
    query: { q: flags.text('search') },
  })
  return await showList(invocation, projects, {
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

export async function runProjectShow(invocation: Invocation): Promise<number> {
  const { id } = await findProject(invocation, invocation.args[0] ?? '')
  return await showProject(invocation, id)
}

type Project = ItemOf<'listProjects'>

/** As it is now, with the tags that hold for it. */
export async function showProject(invocation: Invocation, projectId: string): Promise<number> {
  const { client, output } = invocation
  const { data } = await client.v2.readProject({
    params: { project_id: projectId },
    query: { include: 'effective_tag_bindings' },
  })
  const tags = tagsText(included(data, 'effective-tag-bindings'))
  output.show(data, () => projectText(data.data, tags))
  return EXIT_CODES.ok
}

function projectText({ id, attributes }: Project, tags: string): string {
  return knownFields([
    ['Name', attributes.name],
    ['ID', id],
    ['Description', attributes.description ?? ''],
    ['Default', attributes['is-default'] ? 'yes' : 'no'],
    ['Tags', tags],
    ['Workspaces', String(attributes['workspace-count'])],
    ['Teams', String(attributes['team-count'])],
    ['Idle workspaces go after', attributes['auto-destroy-activity-duration'] ?? ''],
    ['Created', attributes['created-at']],
    ['Permissions', onText(attributes.permissions)],
  ])
}
