import { EVALUATION_STATUSES, type Evaluation } from '@reeve/contract'
import { isEventOf } from '@reeve/sdk'
import { useLiveList } from '../../data/lists.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { quoteShellArg } from '../../commands.ts'
import { type Column, PagedTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { isNewestFirst, OrderSelect, StatusSelect } from '../../components/filters.tsx'
import { PageHeader } from '../../components/page.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromNs } from '../../format.ts'
import { ALL_NAMESPACES, paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import '../../style/jobs.css'

const COLUMNS: readonly Column<Evaluation>[] = [
  { id: 'id', head: 'Evaluation', width: '112px', cell: ({ ID }) => <code>{ID.slice(0, 8)}</code> },
  {
    id: 'job',
    head: 'Job or node',
    cell: ({ Namespace: namespace, JobID, NodeID }) =>
      JobID === '' ? (
        <Link href={paths.node(NodeID)}>node {NodeID.slice(0, 8)}</Link>
      ) : (
        <Link href={paths.job({ namespace, id: JobID })}>{JobID}</Link>
      ),
  },
  {
    id: 'status',
    head: 'Status',
    width: '124px',
    cell: ({ Status, StatusDescription }) => (
      <StatusBadge state={Status} title={StatusDescription} />
    ),
  },
  {
    id: 'trigger',
    head: 'Triggered by',
    width: '16%',
    isExtra: true,
    cell: ({ TriggeredBy }) => TriggeredBy,
  },
  {
    id: 'failed',
    head: 'Placement failures',
    width: '16%',
    isExtra: true,
    cell: ({ FailedTGAllocs }) => Object.keys(FailedTGAllocs ?? {}).join(', ') || '–',
  },
  {
    id: 'priority',
    head: 'Priority',
    width: '80px',
    align: 'end',
    isExtra: true,
    cell: ({ Priority }) => Priority,
  },
  {
    id: 'made',
    head: 'Created',
    width: '104px',
    isExtra: true,
    cell: ({ CreateTime }) => <RelativeTime date={dateFromNs(CreateTime)} />,
  },
]

/** The list of evaluations. */
export function EvaluationListPage({ search }: PageProps<'/evaluations'>) {
  const namespace = search.get('namespace') ?? ALL_NAMESPACES
  const reverse = isNewestFirst(search)
  const status = EVALUATION_STATUSES.find((one) => one === search.get('status'))
  const list = useLiveList<Evaluation>(
    ['evaluations', namespace, status ?? '', reverse],
    ({ api, signal, pageQuery }) =>
      api.v1.listEvaluations({ query: { ...pageQuery, namespace, status, reverse }, signal }),
    {
      watch: { topic: 'Evaluation', namespace },
      idOf: ({ ID }) => ID,
      itemOf: (event) => (isEventOf(event, 'Evaluation') ? event.Payload.Evaluation : undefined),
    },
  )
  return (
    <>
      <PageHeader
        title="Evaluations"
        lead="What the scheduler decided, and what it could not place."
      />
      <search className="filters">
        <StatusSelect statuses={EVALUATION_STATUSES} current={status} />
        <OrderSelect search={search} />
      </search>
      {list.newCount > 0 && (
        <button type="button" className="button new-rows" onClick={list.reload}>
          {list.newCount} new evaluations: show them
        </button>
      )}
      <PagedTable
        label="Evaluations"
        what="the evaluations"
        list={list}
        columns={COLUMNS}
        keyOf={({ ID }) => ID}
        hrefOf={({ ID }) => paths.evaluation(ID)}
        empty={
          <EmptyState
            title={status === undefined ? 'No evaluations' : `No evaluation is ${status}`}
            command="reeve eval list"
          >
            <p>
              Old evaluations are garbage-collected. A change of a job or node creates a new one.
            </p>
          </EmptyState>
        }
      />
      <CliAndApiPanel
        cli={`reeve eval list --namespace ${quoteShellArg(namespace)}`}
        call={{ path: '/v1/evaluations', query: { namespace, status, reverse } }}
      />
    </>
  )
}
