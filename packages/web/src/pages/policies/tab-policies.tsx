import { useState } from 'react'
import { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { organizationDisabledReason } from '../../permissions/governance.ts'
import { useNumberedList } from '../../data/lists.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import type { Column } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { FIRST_COMMANDS } from '../../commands.ts'
import { StatusBadge } from '../../components/status-badge.tsx'
import { StatusSelect } from '../../components/filters.tsx'
import { ChoiceField, FormDialog, TextField } from '../../components/form.tsx'
import { useApiAction } from '../../data/api-action.ts'
import { dateFromText } from '../../format.ts'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import type { OrganizationView } from '../governance/in-organization.tsx'
import { SearchableList } from '../governance/searched-list.tsx'
import { QUERY_EXAMPLE } from './policy-code.ts'

const COLUMNS: readonly Column<v2.RunPolicy>[] = [
  { id: 'name', head: 'Policy', sort: 'name', cell: ({ attributes }) => attributes.name },
  { id: 'kind', head: 'Kind', width: '96px', cell: ({ attributes }) => attributes.kind },
  {
    id: 'level',
    head: 'Level',
    width: '144px',
    isExtra: true,
    cell: ({ attributes }) => attributes['enforcement-level'],
  },
  {
    id: 'code',
    head: 'Code',
    width: '120px',
    cell: ({ attributes }) => <CodeState policy={attributes} />,
  },
  {
    id: 'sets',
    head: 'Sets',
    width: '72px',
    align: 'end',
    isExtra: true,
    cell: ({ attributes }) => attributes['policy-set-count'],
  },
  {
    id: 'changed',
    head: 'Updated',
    sort: 'updated-at',
    width: '112px',
    isExtra: true,
    cell: ({ attributes }) => <RelativeTime date={dateFromText(attributes['updated-at'])} />,
  },
]

/** Reports whether the policy has code that compiles. */
export function CodeState({ policy }: { readonly policy: v2.RunPolicy['attributes'] }) {
  if (policy['code-size'] === null) return <StatusBadge state="pending" text="no code" />
  const errors = policy.diagnostics.filter(({ severity }) => severity === 'error')
  return errors.length === 0 ? (
    <StatusBadge state="passed" text="valid" />
  ) : (
    <StatusBadge state="errored" text="broken" title={errors[0]?.message} />
  )
}

export function PoliciesTab({ organization, search }: OrganizationView) {
  const text = search.get('q') ?? ''
  const kind = v2.POLICY_KINDS.find((one) => one === search.get('kind'))
  const sort = v2.POLICY_SORTS.find((one) => one === search.get('sort')) ?? 'name'
  const list = useNumberedList(
    ['policies', organization.id, text, kind ?? '', sort],
    ({ api, signal, pageQuery }) =>
      api.v2.listOrganizationPolicies({
        params: { organization_name: organization.id },
        query: {
          ...pageQuery,
          'search[name]': text === '' ? undefined : text,
          'filter[kind]': kind,
          sort,
        },
        signal,
      }),
    { watches: [{ topic: 'Policy' }] },
  )
  return (
    <SearchableList
      list={list}
      resourceNames="policies"
      searchText={text}
      filters={<StatusSelect name="kind" label="Kind" statuses={v2.POLICY_KINDS} current={kind} />}
      label="Policies"
      columns={COLUMNS}
      sort={sort}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => paths.policy(organization.id, id)}
      empty={<NoPolicies />}
      create={{
        action: 'New policy…',
        disabledReason: organizationDisabledReason.updatePolicies(organization),
        form: (onClose) => <NewPolicy organization={organization.id} onClose={onClose} />,
      }}
    />
  )
}

function NoPolicies() {
  return (
    <EmptyState title="No policies here" command={FIRST_COMMANDS.policies}>
      <p>
        A policy decides which plans and jobs are allowed. Write it, test it on an input, replay it
        on past runs, then add it to a policy set to enforce it.
      </p>
    </EmptyState>
  )
}

interface NewPolicyProps {
  readonly organization: string
  readonly onClose: () => void
}

/** The dialog to create a policy; its code is written afterwards. */
function NewPolicy({ organization, onClose }: NewPolicyProps) {
  const createPolicy = useCreatePolicy(organization)
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [kind, setKind] = useState<v2.PolicyKind>('native')
  const [query, setQuery] = useState(QUERY_EXAMPLE)
  const [level, setLevel] = useState<v2.EnforcementLevel>('advisory')
  const create = () =>
    createPolicy({
      name,
      kind,
      description,
      query: kind === 'opa' ? query : null,
      'enforcement-level': level,
    })
  const changeKind = (newKind: v2.PolicyKind) => {
    setKind(newKind)
    setLevel('advisory')
  }
  return (
    <FormDialog
      title="New policy"
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
        hint="It cannot be changed later."
      />
      <ChoiceField
        label="Kind"
        attribute="kind"
        value={kind}
        onChange={changeKind}
        choices={v2.POLICY_KINDS}
      />
      {kind === 'opa' && (
        <TextField
          label="Query"
          attribute="query"
          value={query}
          onChange={setQuery}
          hint="The query whose results are denials."
        />
      )}
      <ChoiceField<v2.EnforcementLevel>
        label="Enforcement level"
        attribute="enforcement-level"
        value={level}
        onChange={setLevel}
        choices={v2.ENFORCEMENT_LEVELS[kind]}
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

type PolicyAttributes = v2.RunPolicyCreateRequest['data']['attributes']

/** Creates a policy and opens its page; resolves to whether it was created. */
function useCreatePolicy(organization: string) {
  const callApi = useApiAction()
  return async (attributes: PolicyAttributes) => {
    const created = await callApi({
      call: (api) =>
        api.v2.createPolicy({
          params: { organization_name: organization },
          body: resource('policies', attributes),
        }),
      successMessage: `The policy ${attributes.name} is created. Write its code.`,
    })
    if (created !== undefined) navigate(paths.policy(organization, created.data.data.id))
    return created !== undefined
  }
}
