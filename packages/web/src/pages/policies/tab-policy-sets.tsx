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
import { CheckField, ChoiceField, FormDialog, TextField } from '../../components/form.tsx'
import { dateFromText } from '../../format.ts'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import type { OrganizationView } from '../governance/in-organization.tsx'
import { SearchableList } from '../governance/searched-list.tsx'
import { scopeText } from './policy-text.ts'

const COLUMNS: readonly Column<v2.PolicySet>[] = [
  { id: 'name', head: 'Policy set', cell: ({ attributes }) => attributes.name },
  { id: 'kind', head: 'Kind', width: '96px', cell: ({ attributes }) => attributes.kind },
  { id: 'scope', head: 'Applies to', isExtra: true, cell: scopeText },
  {
    id: 'policies',
    head: 'Policies',
    width: '88px',
    align: 'end',
    cell: ({ attributes }) => attributes['policy-count'],
  },
  {
    id: 'changed',
    head: 'Updated',
    width: '112px',
    isExtra: true,
    cell: ({ attributes }) => <RelativeTime date={dateFromText(attributes['updated-at'])} />,
  },
]

/** Sets of policies and where they apply. */
export function PolicySetsTab({ organization, search }: OrganizationView) {
  const text = search.get('q') ?? ''
  const list = useNumberedList(
    ['policy-sets', organization.id, text],
    ({ api, signal, pageQuery }) =>
      api.v2.listPolicySets({
        params: { organization_name: organization.id },
        query: { ...pageQuery, 'search[name]': text === '' ? undefined : text },
        signal,
      }),
    { watches: [{ topic: 'PolicySet' }] },
  )
  return (
    <SearchableList
      list={list}
      resourceNames="policy sets"
      searchText={text}
      label="Policy sets"
      columns={COLUMNS}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => paths.policySet(organization.id, id)}
      empty={
        <EmptyState title="No policy sets here" command={FIRST_COMMANDS.policySets}>
          <p>
            A policy set enforces policies everywhere, or for projects, workspaces, tags, or the
            jobs of namespaces.
          </p>
        </EmptyState>
      }
      create={{
        action: 'New policy set…',
        disabledReason: organizationDisabledReason.updatePolicies(organization),
        form: (onClose) => <NewPolicySet organization={organization.id} onClose={onClose} />,
      }}
    />
  )
}

interface NewPolicySetProps {
  readonly organization: string
  readonly onClose: () => void
}

function NewPolicySet({ organization, onClose }: NewPolicySetProps) {
  const callApi = useApiAction()
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [kind, setKind] = useState<v2.PolicyKind>('native')
  const [isGlobal, setGlobal] = useState(false)
  const create = async () => {
    const created = await callApi({
      call: (api) =>
        api.v2.createPolicySet({
          params: { organization_name: organization },
          body: resource('policy-sets', { name, description, kind, global: isGlobal }),
        }),
      successMessage: `The policy set ${name} is created.`,
    })
    if (created !== undefined) navigate(paths.policySet(organization, created.data.data.id))
    return created !== undefined
  }
  return (
    <FormDialog
      title="New policy set"
      action="Create"
      disabledReason={name === '' ? 'Enter a name.' : undefined}
      onSubmit={create}
      onClose={onClose}
    >
      <TextField label="Name" attribute="name" value={name} onChange={setName} />
      <ChoiceField
        label="Kind"
        attribute="kind"
        value={kind}
        onChange={setKind}
        choices={v2.POLICY_KINDS}
        hint="All its policies are of this kind. It cannot be changed later."
      />
      <CheckField
        label="Applies to every workspace of the organization"
        attribute="global"
        value={isGlobal}
        onChange={setGlobal}
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
