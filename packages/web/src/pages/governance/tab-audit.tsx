import type { v2 } from '@reeve/contract'
import { usePages } from '../../data/use-pages.ts'
import { Ago } from '../../parts/ago.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfText } from '../../parts/time.ts'
import type { OrganizationView } from './organization-view.ts'

const REFUSED_FROM = 400

const COLUMNS: readonly Column<v2.AuditTrailEntry>[] = [
  {
    id: 'when',
    head: 'When',
    width: '96px',
    cell: ({ attributes }) => <Ago date={dateOfText(attributes.timestamp)} />,
  },
  {
    id: 'who',
    head: 'Who',
    width: '128px',
    cell: ({ attributes }) => attributes['actor-name'] || attributes['actor-id'],
  },
  { id: 'what', head: 'What', cell: ({ attributes }) => <code>{attributes.action}</code> },
  {
    id: 'on',
    head: 'On',
    isExtra: true,
    cell: ({ attributes }) => attributes.resources.join(', '),
  },
  {
    id: 'from',
    head: 'From',
    width: '128px',
    isExtra: true,
    cell: ({ attributes }) => attributes.address,
  },
  {
    id: 'status',
    head: 'Answer',
    width: '136px',
    isExtra: true,
    cell: ({ attributes: { status } }) => (
      <StateBadge
        state={status < REFUSED_FROM ? 'passed' : 'denied'}
        text={`${status < REFUSED_FROM ? 'done' : 'refused'} ${status}`}
      />
    ),
  },
]

/** Who wrote what, the newest first, refusals included. */
export function AuditTab({ organization, search }: OrganizationView) {
  const action = search.get('action') ?? ''
  const thing = search.get('resource') ?? ''
  const list = usePages(['audit', organization.id, action, thing], ({ api, signal, page }) =>
    api.v2.listAuditTrail({
      params: { organization_name: organization.id },
      query: {
        ...page,
        'filter[action]': action === '' ? undefined : action,
        'filter[resource]': thing === '' ? undefined : thing,
      },
      signal,
    }),
  )
  return (
    <>
      <div className="filters">
        <SearchField label="Action, such as createProject" name="action" value={action} />
        <SearchField label="Id or name of what was written" name="resource" value={thing} />
      </div>
      <PagedTable
        list={list}
        what="the audit trail"
        label="Audit trail"
        columns={COLUMNS}
        keyOf={({ id }) => id}
        empty={
          <EmptyState title="Nothing was written">
            <p>Every write in the organization, and every refusal of one, is recorded here.</p>
          </EmptyState>
        }
      />
    </>
  )
}
