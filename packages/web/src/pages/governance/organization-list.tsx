import type { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import { useAct } from '../../data/use-act.ts'
import { usePages } from '../../data/use-pages.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ago } from '../../parts/ago.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { FIRST_COMMANDS } from '../../parts/first-commands.ts'
import { FormDialog, TextField } from '../../parts/form.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { dateOfText } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import { SignedIn } from './in-organization.tsx'

const COLUMNS: readonly Column<v2.Organization>[] = [
  { id: 'name', head: 'Organization', cell: ({ id }) => id },
  { id: 'email', head: 'Email', cell: ({ attributes }) => attributes.email, isExtra: true },
  {
    id: 'rights',
    head: 'You may',
    width: '160px',
    cell: ({ attributes: { permissions } }) =>
      permissions['can-update'] ? 'manage it' : 'take part',
  },
  {
    id: 'made',
    head: 'Made',
    width: '112px',
    isExtra: true,
    cell: ({ attributes }) => <Ago date={dateOfText(attributes['created-at'])} />,
  },
]

/** Every organization of the caller. */
export function OrganizationListPage() {
  return (
    <SignedIn>
      <Organizations />
    </SignedIn>
  )
}

function Organizations() {
  const [isCreating, setCreating] = useState(false)
  const list = usePages(
    ['organizations'],
    ({ api, signal, page }) => api.v2.listOrganizations({ query: page, signal }),
    { watches: [{ topic: 'Organization' }] },
  )
  const account = useRead(['account'], (api, signal) => api.v2.readAccount({ signal }))
  const mayCreate = account.data?.data.attributes.permissions['can-create-organizations'] ?? false
  return (
    <>
      <PageHead
        title="Organizations"
        lead="An organization owns projects with their workspaces, the teams that may use them, and the policies that guard plans and jobs."
        actions={
          <ActionButton
            kind="primary"
            refusal={mayCreate ? undefined : 'Your token may not create organizations.'}
            onAct={() => setCreating(true)}
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
            <p>Make one to put projects, workspaces and policies into it.</p>
          </EmptyState>
        }
      />
      {isCreating && <NewOrganization onClose={() => setCreating(false)} />}
      <CommandLine cli="reeve org list" call={{ path: '/api/v2/organizations' }} />
    </>
  )
}

function NewOrganization({ onClose }: { readonly onClose: () => void }) {
  const act = useAct()
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const create = async () => {
    const made = await act({
      call: (api) =>
        api.v2.createOrganization({ body: resource('organizations', { name, email }) }),
      done: `The organization ${name} is created.`,
    })
    if (made !== undefined) navigate(paths.organization(name))
    return made !== undefined
  }
  return (
    <FormDialog
      title="New organization"
      action="Create"
      refusal={name === '' || email === '' ? 'Fill in the name and the email.' : undefined}
      onSubmit={create}
      onClose={onClose}
    >
      <TextField
        label="Name"
        attribute="name"
        value={name}
        onChange={setName}
        hint="Letters, digits, dashes and underscores. It is in every address."
      />
      <TextField label="Email" attribute="email" kind="email" value={email} onChange={setEmail} />
    </FormDialog>
  )
}
