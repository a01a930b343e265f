import type { Evaluation } from '@reeve/contract'
import { RelativeTime } from '../../parts/ago.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { dateFromNs } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { newestFirst } from './evaluation-order.ts'
import { useJobEvaluations } from './job-data.ts'
import type { JobView } from './job-view.ts'

const EVALUATION_COLUMNS: readonly Column<Evaluation>[] = [
  { id: 'id', head: 'Evaluation', width: '112px', cell: ({ ID }) => <code>{ID.slice(0, 8)}</code> },
  {
    id: 'status',
    head: 'Status',
    width: '128px',
    cell: ({ Status, StatusDescription }) => (
      <StatusBadge state={Status} title={StatusDescription} />
    ),
  },
  { id: 'trigger', head: 'Triggered by', cell: ({ TriggeredBy }) => TriggeredBy },
  {
    id: 'failed',
    head: 'Not placed',
    width: '22%',
    isExtra: true,
    cell: ({ FailedTGAllocs }) => Object.keys(FailedTGAllocs ?? {}).join(', ') || '–',
  },
  {
    id: 'priority',
    head: 'Priority',
    width: '88px',
    align: 'end',
    isExtra: true,
    cell: (one) => one.Priority,
  },
  {
    id: 'made',
    head: 'Created',
    width: '104px',
    isExtra: true,
    cell: ({ CreateTime }) => <RelativeTime date={dateFromNs(CreateTime)} />,
  },
]

/** The tab with the evaluations of the job. */
export function EvaluationsTab({ name }: JobView) {
  const evaluations = useJobEvaluations(name)
  return (
    <QueryView query={evaluations} what="the evaluations">
      {(list) => (
        <DataTable
          label="Evaluations"
          columns={EVALUATION_COLUMNS}
          rows={list.toSorted(newestFirst)}
          keyOf={({ ID }) => ID}
          hrefOf={({ ID }) => paths.evaluation(ID)}
          empty={
            <EmptyState title="No evaluations">
              <p>
                Old evaluations are garbage-collected. A change of the job or of a node creates a
                new one.
              </p>
            </EmptyState>
          }
        />
      )}
    </QueryView>
  )
}
