import type { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import { useApiAction } from '../../data/api-action.ts'
import { useNumberedList } from '../../data/lists.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { type Column, PagedTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { FIRST_COMMANDS } from '../../commands.ts'
import { FormDialog, TextField } from '../../components/form.tsx'
import { PageHeader } from '../../components/page.tsx'
import { dateFromText } from '../../format.ts'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import { GovernanceTokenGuard } from './in-organization.tsx'

const COLUMNS: readonly Column<v2.Organization>[] = [
  { id: 'name', head: 'Organization', cell: ({ id }) => id },
  { id: 'email', head: 'Email', cell: ({ attributes }) => attributes.email, isExtra: true },
  {
    id: 'rights',
    head: 'Role',
    width: '160px',
    cell: ({ attributes: { permissions } }) => (permissions['can-update'] ? 'owner' : 'member'),
  },
  {
    id: 'made',
    head: 'Created',
    width: '112px',
    isExtra: true,
    cell: ({ attributes }) => <RelativeTime date={dateFromText(attributes['created-at'])} />,
  },
]

/** The list of organizations of the caller. */
export function OrganizationListPage() {
  return (
    <GovernanceTokenGuard>
      <Organizations />
    </GovernanceTokenGuard>
  )
}

function Organizations() {
  const [isCreating, setCreating] = useState(false)
  const list = useNumberedList(
    ['organizations'],
    ({ api, signal, pageQuery }) => api.v2.listOrganizations({ query: pageQuery, signal }),
    { watches: [{ topic: 'Organization' }] },
  )
  const account = useApiQuery(['account'], (api, signal) => api.v2.readAccount({ signal }))
  const canCreate = account.data?.data.attributes.permissions['can-create-organizations'] ?? false
  return (
    <>
      <PageHeader
        title="Organizations"
        lead="An organization owns projects with their workspaces, the teams that may use them, and the policies that evaluate plans and jobs."
        actions={
          <ActionButton
            kind="primary"
            disabledReason={canCreate ? undefined : 'Your token may not create organizations.'}
            onAction={() => setCreating(true)}
          >
            New organization…
          </ActionButton>
        }
      />
      <PagedTable
        list={list}
        what="the organizations"
        label="Organizations"
        columns={COLUMNS}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => paths.organization(id)}
        empty={
          <EmptyState title="No organizations yet" command={FIRST_COMMANDS.organizations}>
            <p>Create one for projects, workspaces and policies.</p>
          </EmptyState>
        }
      />
      {isCreating && <NewOrganization onClose={() => setCreating(false)} />}
      <CliAndApiPanel cli="reeve org list" call={{ path: '/api/v2/organizations' }} />
    </>
  )
}

function NewOrganization({ onClose }: { readonly onClose: () => void }) {
  const callApi = useApiAction()
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const create = async () => {
    const created = await callApi({
      call: (api) =>
        api.v2.createOrganization({ body: resource('organizations', { name, email }) }),
      successMessage: `The organization ${name} is created.`,
    })
    if (created !== undefined) navigate(paths.organization(name))
    return created !== undefined
  }
  return (
    <FormDialog
      title="New organization"
      action="Create"
      disabledReason={name === '' || email === '' ? 'Fill in the name and the email.' : undefined}
      onSubmit={create}
      onClose={onClose}
    >
      <TextField
        label="Name"
        attribute="name"
        value={name}
        onChange={setName}
        hint="Letters, digits, dashes and underscores. It is part of every URL."
      />
      <TextField label="Email" attribute="email" kind="email" value={email} onChange={setEmail} />
    </FormDialog>
  )
}
