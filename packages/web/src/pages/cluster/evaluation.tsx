import type { Evaluation, EvaluationStub, PlacementMetrics } from '@reeve/contract'
import { useApiQuery } from '../../data/api-query.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { DescriptionList, PageHeader, Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromNs, dateFromText } from '../../format.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import '../../style/jobs.css'
import { allocationColumns } from '../allocations/allocation-columns.tsx'
import { GroupExplanationPanel } from '../jobs/tab-explain.tsx'
import { placementFailureLines } from '../jobs/scheduling.ts'

/** An evaluation: its request, placement failures, allocations and related evaluations. */
export function EvaluationPage({ params }: PageProps<'/evaluations/:evaluationId'>) {
  const id = params.evaluationId
  const query = useApiQuery(
    ['evaluation', id],
    (api, signal) =>
      api.v1.readEvaluation({ params: { eval_id: id }, query: { related: true }, signal }),
    { watches: [{ topic: 'Evaluation', key: id }] },
  )
  return (
    <QueryView
      query={query}
      what="the evaluation"
      page={{
        title: `Evaluation ${id.slice(0, 8)}`,
        crumbs: [{ text: 'Evaluations', href: paths.evaluations() }],
      }}
    >
      {(evaluation) => (
        <>
          <EvaluationHead evaluation={evaluation} />
          <Panel title="Request">
            <DescriptionList facts={evaluationFacts(evaluation)} />
          </Panel>
          <FailedPlacements evaluation={evaluation} />
          <PlacedAllocations id={id} />
          <RelatedEvaluations evaluation={evaluation} />
          <CliAndApiPanel
            cli={`reeve eval status ${id}`}
            call={{ path: `/v1/evaluation/${id}`, query: { related: true } }}
          />
        </>
      )}
    </QueryView>
  )
}

function EvaluationHead({ evaluation }: { readonly evaluation: Evaluation }) {
  const { ID, JobID, Namespace: namespace, Status, StatusDescription } = evaluation
  return (
    <PageHeader
      title={`Evaluation ${ID.slice(0, 8)}`}
      crumbs={[
        { text: 'Evaluations', href: paths.evaluations({ namespace }) },
        ...(JobID === ''
          ? []
          : [{ text: JobID, href: paths.job({ namespace, id: JobID }, 'evaluations') }]),
      ]}
      aside={
        <>
          <StatusBadge state={Status} />
          <span className="tag">{evaluation.TriggeredBy}</span>
          <span className="tag">namespace {namespace}</span>
        </>
      }
      lead={StatusDescription === '' ? undefined : StatusDescription}
    />
  )
}

function evaluationFacts(evaluation: Evaluation) {
  const { NodeID, DeploymentID, Priority, Type, CreateTime, ModifyTime, WaitUntil } = evaluation
  const waitUntil = dateFromText(WaitUntil)
  return [
    { name: 'Scheduler', value: Type },
    { name: 'Priority', value: Priority },
    { name: 'Created', value: <RelativeTime date={dateFromNs(CreateTime)} /> },
    { name: 'Updated', value: <RelativeTime date={dateFromNs(ModifyTime)} /> },
    ...(waitUntil === undefined ? [] : [{ name: 'Wait until', value: waitUntil.toISOString() }]),
    ...(NodeID === ''
      ? []
      : [{ name: 'Node', value: <Link href={paths.node(NodeID)}>{NodeID.slice(0, 8)}</Link> }]),
    ...(DeploymentID === ''
      ? []
      : [
          {
            name: 'Deployment',
            value: <Link href={paths.deployment(DeploymentID)}>{DeploymentID.slice(0, 8)}</Link>,
          },
        ]),
    ...Object.entries(evaluation.QueuedAllocations ?? {}).map(([group, count]) => ({
      name: `${group}: queued`,
      value: count,
    })),
  ]
}

function FailedPlacements({ evaluation }: { readonly evaluation: Evaluation }) {
  const failed = Object.entries(evaluation.FailedTGAllocs ?? {})
  const isOpen = failed.length > 0 || evaluation.Status === 'blocked'
  const { data } = useApiQuery(
    ['evaluation-explain', evaluation.ID],
    (api, signal) =>
      api.v1.explainEvaluation({ params: { eval_id: evaluation.ID }, query: {}, signal }),
    { enabled: isOpen, watches: [{ topic: 'Evaluation', key: evaluation.ID }] },
  )
  if (!isOpen) return null
  return (
    <>
      {failed.length > 0 && (
        <Panel title="Placement failures">
          <ul className="reasons">
            {failed.map(([group, metrics]) => (
              <FailedPlacement key={group} group={group} metrics={metrics} />
            ))}
          </ul>
        </Panel>
      )}
      {data !== undefined && data.Groups.length > 0 && (
        <>
          <p className="note tone-warn">{data.Text}</p>
          {data.Groups.map((group) => (
            <GroupExplanationPanel key={group.TaskGroup} group={group} />
          ))}
        </>
      )}
    </>
  )
}

interface FailedPlacementProps {
  readonly group: string
  readonly metrics: PlacementMetrics
}

function FailedPlacement({ group, metrics }: FailedPlacementProps) {
  return (
    <li>
      <b>{group}</b>
      <ul>
        {placementFailureLines(metrics).map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </li>
  )
}

function PlacedAllocations({ id }: { readonly id: string }) {
  const allocations = useApiQuery(
    ['evaluation-allocations', id],
    (api, signal) => api.v1.listEvaluationAllocations({ params: { eval_id: id }, signal }),
    { watches: [{ topic: 'Evaluation', key: id }] },
  )
  return (
    <Panel title="Placed allocations" isFlush>
      <QueryView query={allocations} what="the allocations">
        {(list) => (
          <DataTable
            label="Allocations"
            columns={allocationColumns.ofEvaluation}
            rows={list}
            keyOf={({ ID }) => ID}
            hrefOf={({ ID }) => paths.allocation(ID)}
            empty={
              <EmptyState title="Nothing" command={`reeve eval explain ${id}`}>
                <p>There was nothing to place, or no node was feasible.</p>
              </EmptyState>
            }
          />
        )}
      </QueryView>
    </Panel>
  )
}

function RelatedEvaluations({ evaluation }: { readonly evaluation: Evaluation }) {
  const related = evaluation.RelatedEvals ?? []
  if (related.length === 0) return null
  return (
    <Panel title="Related evaluations">
      <ul className="reasons">
        {related.map((one) => (
          <li key={one.ID}>
            <Link href={paths.evaluation(one.ID)}>{one.ID.slice(0, 8)}</Link>{' '}
            <StatusBadge state={one.Status} /> {one.TriggeredBy}{' '}
            <span className="quiet">{relationText(evaluation, one)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function relationText(evaluation: Evaluation, other: EvaluationStub): string {
  if (evaluation.PreviousEval === other.ID) return 'created this evaluation'
  if (evaluation.BlockedEval === other.ID) return 'is blocked until capacity is available'
  if (evaluation.NextEval === other.ID) return 'follows this evaluation'
  return ''
}
