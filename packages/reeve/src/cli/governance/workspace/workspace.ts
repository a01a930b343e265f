import { included, type ItemOf } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { knownFields } from '../../output/known-fields.ts'
import { findProject, findWorkspace } from '../find.ts'
import { organizationOf } from '../organization.ts'
import { tagsText } from '../tags.ts'
import { onText, showList } from '../texts.ts'

type Workspace = ItemOf<'listWorkspaces'>

export async function runWorkspaceList(invocation: Invocation): Promise<number> {
  const { client, flags } = invocation
  const project = flags.text('project')
  const workspaces = client.pages('listWorkspaces', {
    params: await organizationOf(invocation),
    query: {
      'search[name]': flags.text('search'),
      'filter[project][id]':
        project === undefined ? undefined : (await findProject(invocation, project)).id,
    },
  })
  return await showList(invocation, workspaces, {
    heading: ['Name', 'Locked', 'Updated', 'ID', 'Description'],
    row: ({ id, attributes }) => [
      attributes.name,
      attributes.locked ? 'yes' : 'no',
      attributes['updated-at'],
      id,
      attributes.description ?? '',
    ],
    empty: 'There are no such workspaces. "reeve workspace create NAME" makes one.',
  })
}

export async function runWorkspaceShow(invocation: Invocation): Promise<number> {
  const { id } = await findWorkspace(invocation, invocation.args[0] ?? '')
  return await showWorkspace(invocation, id)
}

/** As it is now, with the tags that hold for it. */
export async function showWorkspace(invocation: Invocation, id: string): Promise<number> {
  const { client, output } = invocation
  const { data } = await client.v2.readWorkspace({
    params: { workspace_id: id },
    query: { include: 'effective_tag_bindings,project' },
  })
  const tags = tagsText(included(data, 'effective-tag-bindings'))
  const [project] = included(data, 'projects')
  output.show(data, () =>
    workspaceText(data.data, { tags, project: project?.attributes.name ?? '' }),
  )
  return EXIT_CODES.ok
}

interface Around {
  readonly tags: string
  readonly project: string
}

function workspaceText({ id, attributes, relationships }: Workspace, around: Around): string {
  return knownFields([
    ['Name', attributes.name],
    ['ID', id],
    ['Project', around.project],
    ['Description', attributes.description ?? ''],
    ['Tags', around.tags],
    ['Locked', lockText(attributes)],
    ['Confirms by itself', attributes['auto-apply'] ? 'yes' : 'no'],
    ['Idle time allowed', attributes['auto-destroy-activity-duration'] ?? ''],
    ['Marked for destruction at', attributes['auto-destroy-at'] ?? ''],
    ['Drift', driftText(attributes)],
    ['Latest run', relationships['latest-run'].data?.id ?? ''],
    ['Created', attributes['created-at']],
    ['Permissions', onText(attributes.permissions)],
  ])
}

function driftText(attributes: Workspace['attributes']): string {
  const interval = attributes['drift-check-interval']
  const status = attributes['drift-status']
  if (interval === null && status === null) return ''
  const found = status === null ? 'not checked yet' : status
  return interval === null ? found : `${found}, checked every ${interval}`
}

function lockText(attributes: Workspace['attributes']): string {
  if (!attributes.locked) return 'no'
  const reason = attributes['locked-reason']
  return reason === null || reason === '' ? 'yes' : `yes: ${reason}`
}
