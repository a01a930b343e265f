import { v2 } from '@reeve/contract'
import { useState } from 'react'
import { organizationCan } from '../../actions/governance-can.ts'
import { usePages } from '../../data/use-pages.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ago } from '../../parts/ago.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { ListView } from '../../parts/list-view.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfText } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { hrefWith, navigate } from '../../routing/location.ts'
import type { OrganizationView } from '../governance/organization-view.ts'
import { NewPolicy } from './new-policy.tsx'

const COLUMNS: readonly Column<v2.RunPolicy>[] = [
  { id: 'name', head: 'Policy', cell: ({ attributes }) => attributes.name },
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
    head: 'Changed',
    width: '112px',
    isExtra: true,
    cell: ({ attributes }) => <Ago date={dateOfText(attributes['updated-at'])} />,
  },
]

/** Whether the policy can be asked at all. */
export function CodeState({ policy }: { readonly policy: v2.RunPolicy['attributes'] }) {
  if (policy['code-size'] === null) return <StateBadge state="pending" text="no code" />
  const faults = policy.diagnostics.filter(({ severity }) => severity === 'error')
  return faults.length === 0 ? (
    <StateBadge state="passed" text="reads" />
  ) : (
    <StateBadge state="errored" text="broken" title={faults[0]?.message} />
  )
}

/** Spec G: Policies, List policies. */
export function PoliciesTab({ organization, search }: OrganizationView) {
  const [isCreating, setCreating] = useState(false)
  const text = search.get('q') ?? ''
  const kind = v2.POLICY_KINDS.find((one) => one === search.get('kind'))
  const list = usePages(
    ['policies', organization.id, text, kind ?? ''],
    ({ api, signal, page }) =>
      api.v2.listOrganizationPolicies({
        params: { organization_name: organization.id },
        query: {
          ...page,
          'search[name]': text === '' ? undefined : text,
          'filter[kind]': kind,
        },
        signal,
      }),
    { watches: [{ topic: 'Policy' }] },
  )
  return (
    <>
      <div className="filters">
        <SearchField label="Search policies by name" name="q" value={text} />
        <select
          aria-label="Kind"
          value={kind ?? ''}
          onChange={({ target }) => navigate(hrefWith({ kind: target.value }))}
        >
          <option value="">Any kind</option>
          {v2.POLICY_KINDS.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <ActionButton
          kind="primary"
          refusal={organizationCan.updatePolicies(organization)}
          onAct={() => setCreating(true)}
        >
          New policy…
        </ActionButton>
      </div>
      <ListView
        list={list}
        what="the policies"
        label="Policies"
        columns={COLUMNS}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => paths.policy(organization.id, id)}
        empty={<NoPolicies />}
      />
      {isCreating && (
        <NewPolicy organization={organization.id} onClose={() => setCreating(false)} />
      )}
    </>
  )
}

function NoPolicies() {
  return (
    <EmptyState title="No policies here" command="reeve policy create limits --code limits.native">
      <p>
        A policy says what plans and jobs may do. Write it, try it on an input, replay it on what
        has happened, then put it into a policy set: there it takes effect.
      </p>
    </EmptyState>
  )
}
