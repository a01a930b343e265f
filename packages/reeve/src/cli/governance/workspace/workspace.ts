import { includedResources, type ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { renderNonEmptyFields } from '../../output/known-fields.ts'
import { findProject, findWorkspace } from '../find.ts'
import { resolveOrganization } from '../organization.ts'
import { formatTags } from '../tags.ts'
import { enabledNames, printList } from '../texts.ts'

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
    empty: 'There are no such workspaces. "reeve workspace create NAME" makes one.',
  })
}

export async function runWorkspaceShow(invocation: CommandContext): Promise<number> {
  const { id } = await findWorkspace(invocation, invocation.args[0] ?? '')
  return await printWorkspace(invocation, id)
}

/** Prints the current workspace with its effective tags. */
export async function printWorkspace(invocation: CommandContext, id: string): Promise<number> {
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
