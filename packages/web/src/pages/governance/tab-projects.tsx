import { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import { organizationCan } from '../../actions/governance-can.ts'
import { useAct } from '../../data/use-act.ts'
import { usePages } from '../../data/use-pages.ts'
import { Ago } from '../../parts/ago.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { FIRST_COMMANDS } from '../../parts/first-commands.ts'
import { FormDialog, TextField } from '../../parts/form.tsx'
import { dateOfText } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import type { OrganizationView } from './organization-view.ts'
import { SearchedList } from './searched-list.tsx'
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
    head: 'Made',
    width: '112px',
    isExtra: true,
    cell: ({ attributes }) => <Ago date={dateOfText(attributes['created-at'])} />,
  },
]

export function ProjectsTab({ organization, search }: OrganizationView) {
  const text = search.get('q') ?? ''
  const sort = v2.PROJECT_SORTS.find((one) => one === search.get('sort')) ?? 'name'
  const list = usePages(
    ['projects', organization.id, text, sort],
    ({ api, signal, page }) =>
      api.v2.listProjects({
        params: { organization_name: organization.id },
        query: { ...page, q: text === '' ? undefined : text, sort },
        signal,
      }),
    { watches: [{ topic: 'Project' }] },
  )
  return (
    <SearchedList
      list={list}
      things="projects"
      text={text}
      label="Projects"
      columns={COLUMNS}
      sort={sort}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => paths.project(organization.id, id)}
      empty={
        <EmptyState title="No project is called that" command={FIRST_COMMANDS.projects}>
          <p>A project holds workspaces; its tags and policy sets are theirs too.</p>
        </EmptyState>
      }
      create={{
        action: 'New project…',
        refusal: organizationCan.createProject(organization),
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
  const act = useAct()
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [tags, setTags] = useState('')
  const create = async () => {
    const made = await act({
      call: (api) =>
        api.v2.createProject({
          params: { organization_name: organization },
          body: resource(
            'projects',
            { name, description },
            {
              'tag-bindings': tagBindingsOf(tagsIn(tags)),
            },
          ),
        }),
      done: `The project ${name} is created.`,
    })
    if (made !== undefined) navigate(paths.project(organization, made.data.data.id))
    return made !== undefined
  }
  return (
    <FormDialog
      title="New project"
      action="Create"
      refusal={name === '' ? 'Enter a name.' : undefined}
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

/** `env=prod, audited`: a key may stand alone. */
function tagsIn(text: string): readonly Tag[] {
  const parts = text.split(/[\s,]+/).filter((part) => part !== '')
  return parts.map((part) => {
    const [key = '', ...value] = part.split('=')
    return { key, value: value.join('=') }
  })
}
