import type { AllocationStub, Evaluation, PolicyVerdict } from '@reeve/contract'
import type { ReactNode } from 'react'
import { isActive, isParent } from '../../permissions/job.ts'
import { useCursorList } from '../../data/lists.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { EmptyState, Loading } from '../../components/notices.tsx'
import { FIRST_COMMANDS, namespacedCommand } from '../../commands.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromNs } from '../../format.ts'
import { paths, type JobName } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { HealthBadge } from '../allocations/allocation-columns.tsx'
import { JobOutcomes } from '../policies/policy-results.tsx'
import { isTooLargeToList } from './allocation-counts.ts'
import { DeploymentPanel } from './deployment-panel.tsx'
import {
  type JobView,
  useJobAllocations,
  useJobDeployments,
  useJobEvaluations,
} from './job-data.ts'
import { newestFirst } from './scheduling.ts'

const COLUMNS: readonly Column<AllocationStub>[] = [
  { id: 'id', head: 'Allocation', width: '112px', cell: ({ ID }) => <code>{ID.slice(0, 8)}</code> },
  { id: 'name', head: 'Name', isExtra: true, cell: ({ Name }) => Name },
  {
    id: 'status',
    head: 'Status',
    width: '120px',
    cell: (allocation) => <HealthBadge allocation={allocation} />,
  },
  {
    id: 'desired',
    head: 'Desired',
    width: '88px',
    isExtra: true,
    cell: (one) => one.DesiredStatus,
  },
  {
    id: 'version',
    head: 'Version',
    width: '80px',
    align: 'end',
    isExtra: true,
    cell: (one) => one.JobVersion,
  },
  {
    id: 'node',
    head: 'Node',
    width: '18%',
    cell: ({ NodeID, NodeName }) => <Link href={paths.node(NodeID)}>{NodeName}</Link>,
  },
  {
    id: 'changed',
    head: 'Updated',
    width: '104px',
    isExtra: true,
    cell: ({ ModifyTime }) => <RelativeTime date={dateFromNs(ModifyTime)} />,
  },
]

/** The tab with the allocations of the job. */
export function AllocationsTab({ job, name }: JobView) {
  const empty = isParent(job) ? (
    <ParentHasNoAllocations name={name} />
  ) : (
    <NoAllocations name={name} />
  )
  const List = isTooLargeToList(job) ? PagedAllocations : AllocationList
  return <List name={name} empty={empty} />
}

interface AllocationsProps {
  readonly name: JobName
  readonly empty: ReactNode
}

function NoAllocations({ name }: { readonly name: JobName }) {
  return (
    <EmptyState
      title="No allocations"
      command={namespacedCommand(name.namespace, 'job', 'explain', name.id)}
    >
      <p>No allocation of this job was placed. See Explain for the reasons.</p>
    </EmptyState>
  )
}

/** Shown for parents of child jobs, which never have allocations of their own. */
function ParentHasNoAllocations({ name }: { readonly name: JobName }) {
  return (
    <EmptyState
      title="Its child jobs have the allocations"
      command={namespacedCommand(name.namespace, 'job', 'status', name.id)}
    >
      <p>
        This job only launches child jobs. The <Link href={paths.job(name)}>overview</Link> lists
        them.
      </p>
    </EmptyState>
  )
}

function AllocationList({ name, empty }: AllocationsProps) {
  const allocations = useJobAllocations(name)
  return (
    <QueryView query={allocations} what="the allocations">
      {(list) => (
        <AllocationTable
          empty={empty}
          rows={list.toSorted((a, b) => b.CreateIndex - a.CreateIndex)}
        />
      )}
    </QueryView>
  )
}

/** Uses the paginated list of allocations; the route of the job returns all at once. */
function PagedAllocations({ name, empty }: AllocationsProps) {
  const { namespace, id } = name
  const list = useCursorList(
    ['job-allocation-pages', namespace, id],
    ({ api, signal, pageQuery }) =>
      api.v1.listAllocations({
        query: { ...pageQuery, namespace, filter: `JobID == "${id}"` },
        signal,
      }),
  )
  if (list.error !== null) return <ErrorMessage error={list.error} retry={list.retry} />
  if (list.isPending) return <Loading what="the allocations" />
  return (
    <AllocationTable
      empty={empty}
      rows={list.items}
      hasMore={list.hasMore}
      onEndReached={list.loadMore}
    />
  )
}

interface AllocationTableProps {
  readonly empty: ReactNode
  readonly rows: readonly AllocationStub[]
  readonly hasMore?: boolean
  readonly onEndReached?: () => void
}

function AllocationTable(list: AllocationTableProps) {
  return (
    <DataTable
      label="Allocations"
      columns={COLUMNS}
      keyOf={({ ID }) => ID}
      hrefOf={({ ID }) => paths.allocation(ID)}
      {...list}
    />
  )
}

/** The tab with the deployments of the job, newest first. */
export function DeploymentsTab({ name }: JobView) {
  const deployments = useJobDeployments(name)
  return (
    <QueryView query={deployments} what="the deployments">
      {(list) =>
        list.length === 0 ? (
          <EmptyState title="No deployments">
            <p>
              A service with an <code>update</code> block is rolled out step by step; each roll-out
              is a deployment.
            </p>
          </EmptyState>
        ) : (
          list
            .toSorted((a, b) => b.CreateIndex - a.CreateIndex)
            .map((deployment) => (
              <DeploymentPanel
                key={deployment.ID}
                deployment={deployment}
                title={`Version ${deployment.JobVersion}${isActive(deployment) ? ', in progress' : ''}`}
              />
            ))
        )
      }
    </QueryView>
  )
}

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
    head: 'Placement failures',
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

/** The tab with the policy decisions on the job: denials and overrides. */
export function PolicyDecisionsTab({ name }: JobView) {
  const { namespace, id } = name
  const list = useCursorList(
    ['job-verdicts', namespace, id],
    ({ api, signal, pageQuery }) =>
      api.v1.listJobVerdicts({
        params: { job_id: id },
        query: { ...pageQuery, namespace, reverse: true },
        signal,
      }),
    { watches: [{ topic: 'PolicyVerdict' }] },
  )
  if (list.error !== null) return <ErrorMessage error={list.error} retry={list.retry} />
  if (list.isPending) return <Loading what="the policy decisions" />
  if (list.items.length === 0)
    return (
      <EmptyState title="No policy decisions" command={FIRST_COMMANDS.policySets}>
        <p>
          Policy sets apply to the jobs of their namespaces. Denied and overridden changes of this
          job appear here with the failing rule.
        </p>
      </EmptyState>
    )
  return (
    <>
      {list.items.map((decision) => (
        <PolicyDecisionPanel key={decision.ID} decision={decision} />
      ))}
      {list.hasMore && <ActionButton onAction={list.loadMore}>Load older</ActionButton>}
    </>
  )
}

function PolicyDecisionPanel({ decision }: { readonly decision: PolicyVerdict }) {
  const { ID, Namespace, Operation, Result, Time, TokenName, AccessorID, Comment } = decision
  const who = TokenName || AccessorID.slice(0, 8)
  return (
    <Panel
      title={`${Operation}, ${Result}`}
      actions={<Link href={paths.verdict(Namespace, ID)}>Details</Link>}
    >
      <div className="row legend">
        <StatusBadge state={Result} />
        <RelativeTime date={dateFromNs(Time)} />
        {who !== '' && <span className="quiet">by {who}</span>}
        {Comment !== '' && <span>“{Comment}”</span>}
      </div>
      <JobOutcomes outcomes={decision.Outcomes} />
      {decision.OutcomesOmitted > 0 && (
        <p className="quiet">And {decision.OutcomesOmitted} more.</p>
      )}
    </Panel>
  )
}
