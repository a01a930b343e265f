import { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import { organizationDisabledReason } from '../../permissions/governance.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useNumberedList } from '../../data/lists.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import type { Column } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { FIRST_COMMANDS } from '../../commands.ts'
import { FormDialog, TextField } from '../../components/form.tsx'
import { dateFromText } from '../../format.ts'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import type { OrganizationView } from './in-organization.tsx'
import { SearchableList } from './searched-list.tsx'
import { tagBindingsOf, type Tag } from './tag-editor.tsx'

const COLUMNS: readonly Column<v2.Project>[] = [
  {
    id: 'name',
    head: 'Project',
    sort: 'name',
    cell: ({ attributes }) => attributes.name,
  },
  {
    id: 'description',
    head: 'Description',
    isExtra: true,
    cell: ({ attributes }) => attributes.description ?? '',
  },
  {
    id: 'workspaces',
    head: 'Workspaces',
    width: '112px',
    align: 'end',
    cell: ({ attributes }) => attributes['workspace-count'],
  },
  {
    id: 'teams',
    head: 'Teams',
    width: '80px',
    align: 'end',
    isExtra: true,
    cell: ({ attributes }) => attributes['team-count'],
  },
  {
    id: 'made',
    head: 'Created',
    width: '112px',
    isExtra: true,
    cell: ({ attributes }) => <RelativeTime date={dateFromText(attributes['created-at'])} />,
  },
]

export function ProjectsTab({ organization, search }: OrganizationView) {
  const text = search.get('q') ?? ''
  const sort = v2.PROJECT_SORTS.find((one) => one === search.get('sort')) ?? 'name'
  const list = useNumberedList(
    ['projects', organization.id, text, sort],
    ({ api, signal, pageQuery }) =>
      api.v2.listProjects({
        params: { organization_name: organization.id },
        query: { ...pageQuery, q: text === '' ? undefined : text, sort },
        signal,
      }),
    { watches: [{ topic: 'Project' }] },
  )
  return (
    <SearchableList
      list={list}
      resourceNames="projects"
      searchText={text}
      label="Projects"
      columns={COLUMNS}
      sort={sort}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => paths.project(organization.id, id)}
      empty={
        <EmptyState title="No matching projects" command={FIRST_COMMANDS.projects}>
          <p>A project groups workspaces, which inherit its tags and policy sets.</p>
        </EmptyState>
      }
      create={{
        action: 'New project…',
        disabledReason: organizationDisabledReason.createProject(organization),
        form: (onClose) => <NewProject organization={organization.id} onClose={onClose} />,
      }}
    />
  )
}

interface NewProjectProps {
  readonly organization: string
  readonly onClose: () => void
}

function NewProject({ organization, onClose }: NewProjectProps) {
  const callApi = useApiAction()
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [tags, setTags] = useState('')
  const create = async () => {
    const created = await callApi({
      call: (api) =>
        api.v2.createProject({
          params: { organization_name: organization },
          body: resource(
            'projects',
            { name, description },
            {
              'tag-bindings': tagBindingsOf(parseTags(tags)),
            },
          ),
        }),
      successMessage: `The project ${name} is created.`,
    })
    if (created !== undefined) navigate(paths.project(organization, created.data.data.id))
    return created !== undefined
  }
  return (
    <FormDialog
      title="New project"
      action="Create"
      disabledReason={name === '' ? 'Enter a name.' : undefined}
      onSubmit={create}
      onClose={onClose}
    >
      <TextField label="Name" attribute="name" value={name} onChange={setName} />
      <TextField
        label="Description"
        attribute="description"
        isOptional
        value={description}
        onChange={setDescription}
      />
      <TextField
        label="Tags"
        isOptional
        value={tags}
        onChange={setTags}
        hint="Such as env=prod, team=web. Its workspaces inherit them."
      />
    </FormDialog>
  )
}

/** Parses tags such as `env=prod, audited`; the value is optional. */
function parseTags(text: string): readonly Tag[] {
  const parts = text.split(/[\s,]+/).filter((part) => part !== '')
  return parts.map((part) => {
    const [key = '', ...value] = part.split('=')
    return { key, value: value.join('=') }
  })
}
