import { v2 } from '@reeve/contract'
import { resource, toOne } from '@reeve/sdk'
import { useState } from 'react'
import { organizationCan } from '../../actions/governance-can.ts'
import type { Verdict } from '../../actions/verdict.ts'
import { useAct } from '../../data/use-act.ts'
import { usePages } from '../../data/use-pages.ts'
import { Ago } from '../../parts/ago.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { FIRST_COMMANDS } from '../../parts/first-commands.ts'
import { FormDialog, TextField } from '../../parts/form.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfText } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import type { OrganizationView } from './organization-view.ts'
import { SearchedList } from './searched-list.tsx'

const COLUMNS: readonly Column<v2.Workspace>[] = [
  { id: 'name', head: 'Workspace', sort: 'name', cell: ({ attributes }) => attributes.name },
  {
    id: 'lock',
    head: 'Lock',
    width: '120px',
    cell: ({ attributes }) =>
      attributes.locked ? (
        <StateBadge state="locked" title={attributes['locked-reason'] ?? undefined} />
      ) : (
        <span className="quiet">open</span>
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
    head: 'Changed',
    sort: 'latest-change-at',
    width: '112px',
    isExtra: true,
    cell: ({ attributes }) => <Ago date={dateOfText(attributes['latest-change-at'])} />,
  },
]

/** All workspaces that the caller may read. */
export function WorkspacesTab({ organization, search }: OrganizationView) {
  return (
    <WorkspaceList
      organization={organization.id}
      search={search}
      refusal={organizationCan.createWorkspace(organization)}
    />
  )
}

interface WorkspaceListProps {
  readonly organization: string
  readonly search: URLSearchParams
  readonly refusal: Verdict
  /** Only those of this project; new ones are made in it. */
  readonly project?: string
}

export function WorkspaceList({ organization, search, refusal, project }: WorkspaceListProps) {
  const text = search.get('q') ?? ''
  const sort = v2.WORKSPACE_SORTS.find((one) => one === search.get('sort')) ?? 'name'
  const list = usePages(
    ['workspaces', organization, text, project ?? '', sort],
    ({ api, signal, page }) =>
      api.v2.listWorkspaces({
        params: { organization_name: organization },
        query: {
          ...page,
          'search[name]': text === '' ? undefined : text,
          'filter[project][id]': project,
          sort,
        },
        signal,
      }),
    { watches: [{ topic: 'Workspace' }, { topic: 'Run' }] },
  )
  return (
    <SearchedList
      list={list}
      things="workspaces"
      text={text}
      label="Workspaces"
      columns={COLUMNS}
      sort={sort}
      keyOf={({ id }) => id}
      hrefOf={({ attributes }) => paths.workspace(organization, attributes.name)}
      empty={
        <EmptyState title="No workspaces here" command={FIRST_COMMANDS.workspaces}>
          <p>A workspace is what runs plan and apply; policies judge each of its plans.</p>
        </EmptyState>
      }
      create={{
        action: 'New workspace…',
        refusal,
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
  const act = useAct()
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const create = async () => {
    const within = project === undefined ? {} : { project: toOne('projects', project) }
    const made = await act({
      call: (api) =>
        api.v2.createWorkspace({
          params: { organization_name: organization },
          body: resource('workspaces', { name, description }, within),
        }),
      done: `The workspace ${name} is created.`,
    })
    if (made !== undefined) navigate(paths.workspace(organization, name))
    return made !== undefined
  }
  return (
    <FormDialog
      title="New workspace"
      action="Create"
      refusal={name === '' ? 'Enter a name.' : undefined}
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
