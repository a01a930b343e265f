import { v2 } from '@reeve/contract'
import { resource, toOne } from '@reeve/sdk'
import { useState } from 'react'
import { organizationDisabledReason } from '../../permissions/governance.ts'
import type { DisabledReason } from '../../permissions/disabled-reason.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useNumberedList } from '../../data/lists.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import type { Column } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { FIRST_COMMANDS } from '../../commands.ts'
import { FormDialog, TextField } from '../../components/form.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromText } from '../../format.ts'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import type { OrganizationView } from './in-organization.tsx'
import { SearchableList } from './searched-list.tsx'

const COLUMNS: readonly Column<v2.Workspace>[] = [
  { id: 'name', head: 'Workspace', sort: 'name', cell: ({ attributes }) => attributes.name },
  {
    id: 'lock',
    head: 'Lock',
    width: '120px',
    cell: ({ attributes }) =>
      attributes.locked ? (
        <StatusBadge state="locked" title={attributes['locked-reason'] ?? undefined} />
      ) : (
        <span className="quiet">unlocked</span>
      ),
  },
  {
    id: 'policies',
    head: 'Failed checks',
    width: '120px',
    align: 'end',
    isExtra: true,
    cell: ({ attributes }) => attributes['policy-check-failures'],
  },
  {
    id: 'runs',
    head: 'Failed runs',
    width: '112px',
    align: 'end',
    isExtra: true,
    cell: ({ attributes }) => attributes['run-failures'],
  },
  {
    id: 'changed',
    head: 'Updated',
    sort: 'latest-change-at',
    width: '112px',
    isExtra: true,
    cell: ({ attributes }) => <RelativeTime date={dateFromText(attributes['latest-change-at'])} />,
  },
]

/** The tab with the workspaces that the caller may read. */
export function WorkspacesTab({ organization, search }: OrganizationView) {
  return (
    <WorkspaceList
      organization={organization.id}
      search={search}
      disabledReason={organizationDisabledReason.createWorkspace(organization)}
    />
  )
}

interface WorkspaceListProps {
  readonly organization: string
  readonly search: URLSearchParams
  readonly disabledReason: DisabledReason
  /** Limits the list to a project, in which new workspaces are created. */
  readonly project?: string
}

export function WorkspaceList({
  organization,
  search,
  disabledReason,
  project,
}: WorkspaceListProps) {
  const text = search.get('q') ?? ''
  const sort = v2.WORKSPACE_SORTS.find((one) => one === search.get('sort')) ?? 'name'
  const list = useNumberedList(
    ['workspaces', organization, text, project ?? '', sort],
    ({ api, signal, pageQuery }) =>
      api.v2.listWorkspaces({
        params: { organization_name: organization },
        query: {
          ...pageQuery,
          'search[name]': text === '' ? undefined : text,
          'filter[project][id]': project,
          sort,
        },
        signal,
      }),
    { watches: [{ topic: 'Workspace' }, { topic: 'Run' }] },
  )
  return (
    <SearchableList
      list={list}
      resourceNames="workspaces"
      searchText={text}
      label="Workspaces"
      columns={COLUMNS}
      sort={sort}
      keyOf={({ id }) => id}
      hrefOf={({ attributes }) => paths.workspace(organization, attributes.name)}
      empty={
        <EmptyState title="No matching workspaces" command={FIRST_COMMANDS.workspaces}>
          <p>Runs plan and apply the configuration of a workspace; policies evaluate each plan.</p>
        </EmptyState>
      }
      create={{
        action: 'New workspace…',
        disabledReason,
        form: (onClose) => (
          <NewWorkspace organization={organization} project={project} onClose={onClose} />
        ),
      }}
    />
  )
}

interface NewWorkspaceProps {
  readonly organization: string
  readonly project: string | undefined
  readonly onClose: () => void
}

function NewWorkspace({ organization, project, onClose }: NewWorkspaceProps) {
  const callApi = useApiAction()
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const create = async () => {
    const relationships = project === undefined ? {} : { project: toOne('projects', project) }
    const created = await callApi({
      call: (api) =>
        api.v2.createWorkspace({
          params: { organization_name: organization },
          body: resource('workspaces', { name, description }, relationships),
        }),
      successMessage: `The workspace ${name} is created.`,
    })
    if (created !== undefined) navigate(paths.workspace(organization, name))
    return created !== undefined
  }
  return (
    <FormDialog
      title="New workspace"
      action="Create"
      disabledReason={name === '' ? 'Enter a name.' : undefined}
      onSubmit={create}
      onClose={onClose}
    >
      <TextField
        label="Name"
        attribute="name"
        value={name}
        onChange={setName}
        hint="Unique in the organization: letters, digits, dashes and underscores."
      />
      <TextField
        label="Description"
        attribute="description"
        isOptional
        value={description}
        onChange={setDescription}
      />
    </FormDialog>
  )
}
