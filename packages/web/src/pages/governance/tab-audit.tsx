import type { v2 } from '@reeve/contract'
import { useNumberedList } from '../../data/lists.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { type Column, PagedTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { SearchField } from '../../components/filters.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromText } from '../../format.ts'
import type { OrganizationView } from './in-organization.tsx'

const ERROR_STATUS_MIN = 400

const COLUMNS: readonly Column<v2.AuditTrailEntry>[] = [
  {
    id: 'when',
    head: 'When',
    width: '96px',
    cell: ({ attributes }) => <RelativeTime date={dateFromText(attributes.timestamp)} />,
  },
  {
    id: 'who',
    head: 'Actor',
    width: '128px',
    cell: ({ attributes }) => attributes['actor-name'] || attributes['actor-id'],
  },
  { id: 'what', head: 'Action', cell: ({ attributes }) => <code>{attributes.action}</code> },
  {
    id: 'on',
    head: 'Resource',
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
    head: 'Result',
    width: '136px',
    isExtra: true,
    cell: ({ attributes: { status } }) => (
      <StatusBadge
        state={status < ERROR_STATUS_MIN ? 'passed' : 'denied'}
        text={`${status < ERROR_STATUS_MIN ? 'done' : 'refused'} ${status}`}
      />
    ),
  },
]

/** The audit trail, newest first, with rejected requests. */
export function AuditTab({ organization, search }: OrganizationView) {
  const action = search.get('action') ?? ''
  const resource = search.get('resource') ?? ''
  const list = useNumberedList(
    ['audit', organization.id, action, resource],
    ({ api, signal, pageQuery }) =>
      api.v2.listAuditTrail({
        params: { organization_name: organization.id },
        query: {
          ...pageQuery,
          'filter[action]': action === '' ? undefined : action,
          'filter[resource]': resource === '' ? undefined : resource,
        },
        signal,
      }),
  )
  return (
    <>
      <div className="filters">
        <SearchField label="Action, such as createProject" name="action" value={action} />
        <SearchField label="ID or name of the resource" name="resource" value={resource} />
      </div>
      <PagedTable
        list={list}
        what="the audit trail"
        label="Audit trail"
        columns={COLUMNS}
        keyOf={({ id }) => id}
        empty={
          <EmptyState title="No audit records">
            <p>Every write in the organization is recorded here, including rejected ones.</p>
          </EmptyState>
        }
      />
    </>
  )
}
