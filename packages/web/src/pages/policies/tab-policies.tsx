import { v2 } from '@reeve/contract'
import { organizationDisabledReason } from '../../actions/governance-can.ts'
import { useNumberedList } from '../../data/use-pages.ts'
import { RelativeTime } from '../../parts/ago.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { FIRST_COMMANDS } from '../../parts/first-commands.ts'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { StatusSelect } from '../../parts/status-select.tsx'
import { dateFromText } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import type { OrganizationView } from '../governance/organization-view.ts'
import { SearchableList } from '../governance/searched-list.tsx'
import { NewPolicy } from './new-policy.tsx'

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
    <StatusBadge state="passed" text="reads" />
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
