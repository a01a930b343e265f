import { CLIENT_STATUSES, type AllocationStub } from '@reeve/contract'
import { isEventOf } from '@reeve/sdk'
import { useLiveList } from '../../data/lists.ts'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { FIRST_COMMANDS, quoteShellArg } from '../../commands.ts'
import { EmptyState } from '../../components/notices.tsx'
import { isNewestFirst, OrderSelect, StatusSelect } from '../../components/filters.tsx'
import { PageHeader } from '../../components/page.tsx'
import { PagedTable } from '../../components/data-table.tsx'
import { ALL_NAMESPACES, paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { allocationColumns } from './allocation-columns.tsx'

/** The list of allocations of a namespace. */
export function AllocationListPage({ search }: PageProps<'/allocations'>) {
  const namespace = search.get('namespace') ?? ALL_NAMESPACES
  const reverse = isNewestFirst(search)
  const status = CLIENT_STATUSES.find((one) => one === search.get('status'))
  const filter = status === undefined ? undefined : `ClientStatus == "${status}"`
  const list = useLiveList<AllocationStub>(
    ['allocations', namespace, filter ?? '', reverse],
    ({ api, signal, pageQuery }) =>
      api.v1.listAllocations({
        query: { ...pageQuery, namespace, filter, reverse },
        signal,
      }),
    {
      watch: { topic: 'Allocation', namespace },
      idOf: ({ ID }) => ID,
      itemOf: (event) => (isEventOf(event, 'Allocation') ? event.Payload.Allocation : undefined),
    },
  )
  return (
    <>
      <PageHeader title="Allocations" lead="Task groups placed on nodes." />
      <search className="filters">
        <StatusSelect statuses={CLIENT_STATUSES} current={status} />
        <OrderSelect search={search} />
      </search>
      {list.newCount > 0 && (
        <button type="button" className="button new-rows" onClick={list.reload}>
          {list.newCount} new allocations: show them
        </button>
      )}
      <PagedTable
        label="Allocations"
        what="the allocations"
        list={list}
        columns={allocationColumns.everywhere}
        keyOf={({ ID }) => ID}
        hrefOf={({ ID }) => paths.allocation(ID)}
        empty={
          <EmptyState
            title={status === undefined ? 'No allocations' : `No allocation is ${status}`}
            command={FIRST_COMMANDS.allocations}
          >
            <p>
              An allocation is a task group placed on a node. The scheduler creates allocations when
              a job is submitted; they appear here automatically.
            </p>
          </EmptyState>
        }
      />
      <CliAndApiPanel
        cli={`reeve alloc status --namespace ${quoteShellArg(namespace)}`}
        call={{ path: '/v1/allocations', query: { namespace, filter, reverse } }}
      />
    </>
  )
}
