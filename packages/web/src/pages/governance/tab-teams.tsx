import type { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import { organizationDisabledReason } from '../../permissions/governance.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useNumberedList } from '../../data/lists.ts'
import type { Column } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { FIRST_COMMANDS } from '../../commands.ts'
import { ChoiceField, FormDialog, TextField } from '../../components/form.tsx'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import type { OrganizationView } from './in-organization.tsx'
import { SearchableList } from './searched-list.tsx'
import { VISIBILITIES, VISIBILITY_TEXTS, type Visibility } from './labels.ts'

const COLUMNS: readonly Column<v2.Team>[] = [
  { id: 'name', head: 'Team', cell: ({ attributes }) => attributes.name },
  {
    id: 'members',
    head: 'Members',
    width: '96px',
    align: 'end',
    cell: ({ attributes }) => attributes['users-count'],
  },
  {
    id: 'visibility',
    head: 'Visibility',
    width: '180px',
    isExtra: true,
    cell: ({ attributes }) => VISIBILITY_TEXTS[attributes.visibility],
  },
  {
    id: 'access',
    head: 'Organization access',
    isExtra: true,
    cell: ({ attributes }) => accessText(attributes),
  },
]

function accessText({ name, 'organization-access': access }: v2.Team['attributes']): string {
  if (name === 'owners') return 'everything'
  const granted = Object.entries(access).flatMap(([permission, isGranted]) =>
    isGranted ? [permission] : [],
  )
  return granted.join(', ') || 'only what projects and workspaces grant'
}

/** The tab with the teams that are visible to the caller. */
export function TeamsTab({ organization, search }: OrganizationView) {
  const text = search.get('q') ?? ''
  const list = useNumberedList(['teams', organization.id, text], ({ api, signal, pageQuery }) =>
    api.v2.listTeams({
      params: { organization_name: organization.id },
      query: { ...pageQuery, q: text === '' ? undefined : text },
      signal,
    }),
  )
  return (
    <SearchableList
      list={list}
      resourceNames="teams"
      searchText={text}
      label="Teams"
      columns={COLUMNS}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => paths.team(organization.id, id)}
      empty={
        <EmptyState title="No matching teams" command={FIRST_COMMANDS.teams}>
          <p>Teams group users and grant access to projects and workspaces.</p>
        </EmptyState>
      }
      create={{
        action: 'New team…',
        disabledReason: organizationDisabledReason.createTeam(organization),
        form: (onClose) => <NewTeam organization={organization.id} onClose={onClose} />,
      }}
    />
  )
}

interface NewTeamProps {
  readonly organization: string
  readonly onClose: () => void
}

function NewTeam({ organization, onClose }: NewTeamProps) {
  const callApi = useApiAction()
  const [name, setName] = useState('')
  const [visibility, setVisibility] = useState<Visibility>('organization')
  const create = async () => {
    const created = await callApi({
      call: (api) =>
        api.v2.createTeam({
          params: { organization_name: organization },
          body: resource('teams', { name, visibility }),
        }),
      successMessage: `The team ${name} is created.`,
    })
    if (created !== undefined) navigate(paths.team(organization, created.data.data.id))
    return created !== undefined
  }
  return (
    <FormDialog
      title="New team"
      action="Create"
      disabledReason={name === '' ? 'Enter a name.' : undefined}
      onSubmit={create}
      onClose={onClose}
    >
      <TextField label="Name" attribute="name" value={name} onChange={setName} />
      <ChoiceField
        label="Visibility"
        attribute="visibility"
        value={visibility}
        onChange={setVisibility}
        choices={VISIBILITIES}
        textOf={(one) => VISIBILITY_TEXTS[one]}
      />
    </FormDialog>
  )
}
