import { CLIENT_STATUSES, type AllocationStub } from '@reeve/contract'
import { isEventOf } from '@reeve/sdk'
import { useLiveList } from '../../data/use-live-list.ts'
import { CommandLine } from '../../parts/command-line.tsx'
import { quoted } from '../../parts/curl-line.ts'
import { EmptyState } from '../../parts/empty-state.tsx'
import { FIRST_COMMANDS } from '../../parts/first-commands.ts'
import { isNewestFirst, OrderSelect } from '../../parts/order-select.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { StatusSelect } from '../../parts/status-select.tsx'
import { ALL_NAMESPACES, paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { allocationColumns } from './allocation-columns.tsx'

/** Every allocation of a namespace. */
export function AllocationListPage({ search }: PageProps<'/allocations'>) {
  const namespace = search.get('namespace') ?? ALL_NAMESPACES
  const reverse = isNewestFirst(search)
  const status = CLIENT_STATUSES.find((one) => one === search.get('status'))
  const filter = status === undefined ? undefined : `ClientStatus == "${status}"`
  const list = useLiveList<AllocationStub>(
    ['allocations', namespace, filter ?? '', reverse],
    ({ api, signal, page }) =>
      api.v1.listAllocations({
        query: { ...page, namespace, filter, reverse },
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
      <PageHead title="Allocations" lead="Instances of task groups, each placed on a node." />
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
              An allocation is an instance of a task group on a node. The scheduler makes them when
              a job is run; they appear here by themselves.
            </p>
          </EmptyState>
        }
      />
      <CommandLine
        cli={`reeve alloc status --namespace ${quoted(namespace)}`}
        call={{ path: '/v1/allocations', query: { namespace, filter, reverse } }}
      />
    </>
  )
}
