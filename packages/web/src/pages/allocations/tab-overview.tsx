import { failureOf, type Allocation, type TaskState } from '@reeve/contract'
import { RelativeTime } from '../../parts/ago.tsx'
import { formatMegabytes } from '../../parts/bytes.ts'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { DescriptionList, Panel } from '../../parts/panel.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { dateFromNs, dateFromText } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { FailureBanner } from '../jobs/failure-banner.tsx'
import { taskNames, type AllocationView } from './allocation-view.ts'
import { ChecksPanel } from './checks-panel.tsx'
import { TaskControls } from './task-controls.tsx'
import { timelineEvents } from './timeline.ts'

/** The tab with placement, tasks and events of the allocation. */
export function OverviewTab({ allocation }: AllocationView) {
  return (
    <>
      {isFailing(allocation) && (
        <FailureBanner
          job={{ namespace: allocation.Namespace, id: allocation.JobID }}
          allocation={allocation.ID}
          node={allocation.NodeID}
        />
      )}
      <Panel title="Placement">
        <DescriptionList facts={allocationFacts(allocation)} />
      </Panel>
      <Panel title="Tasks" isFlush>
        <Tasks allocation={allocation} />
      </Panel>
      <ChecksPanel allocation={allocation} />
      <Panel title="Events">
        <Timeline allocation={allocation} />
      </Panel>
    </>
  )
}

/** True while a task restarts, too: the response then describes the previous attempt. */
function isFailing(allocation: Allocation): boolean {
  return failureOf(allocation, Date.now()) !== undefined
}

function allocationFacts(allocation: Allocation) {
  const { NodeID, NodeName, EvalID, DeploymentID, Resources, JobVersion } = allocation
  const { Namespace: namespace, JobID } = allocation
  return [
    { name: 'Node', value: <Link href={paths.node(NodeID)}>{NodeName}</Link> },
    {
      name: 'Job version',
      value: (
        <Link href={paths.jobVersions({ namespace, id: JobID }, { version: JobVersion })}>
          {JobVersion}
        </Link>
      ),
    },
    { name: 'Made', value: <RelativeTime date={dateFromNs(allocation.CreateTime)} /> },
    { name: 'Changed', value: <RelativeTime date={dateFromNs(allocation.ModifyTime)} /> },
    {
      name: 'Evaluation',
      value: <Link href={paths.evaluation(EvalID)}>{EvalID.slice(0, 8)}</Link>,
    },
    ...(DeploymentID === ''
      ? []
      : [
          {
            name: 'Deployment',
            value: <Link href={paths.deployment(DeploymentID)}>{DeploymentID.slice(0, 8)}</Link>,
          },
        ]),
    ...(Resources === null
      ? []
      : [
          { name: 'CPU', value: `${Resources.CPU} MHz` },
          { name: 'Memory', value: formatMegabytes(Resources.MemoryMB) },
          { name: 'Disk', value: formatMegabytes(Resources.DiskMB) },
        ]),
    ...portFacts(allocation),
  ]
}

function portFacts({ AllocatedResources }: Allocation) {
  return (AllocatedResources.Shared.Ports ?? []).map(({ Label, Value, To, HostIP }) => ({
    name: `Port ${Label}`,
    value: (
      <code>
        {HostIP}:{Value}
        {To > 0 && To !== Value ? ` → ${To}` : ''}
      </code>
    ),
  }))
}

interface TaskRow {
  readonly name: string
  readonly driver: string
  readonly state: TaskState | undefined
  readonly allocation: Allocation
}

const TASK_COLUMNS: readonly Column<TaskRow>[] = [
  { id: 'name', head: 'Task', cell: ({ name }) => <b>{name}</b> },
  {
    id: 'state',
    head: 'State',
    width: '120px',
    cell: ({ state }) => <TaskBadge state={state} />,
  },
  { id: 'driver', head: 'Driver', width: '12%', isExtra: true, cell: ({ driver }) => driver },
  {
    id: 'started',
    head: 'Started',
    width: '104px',
    isExtra: true,
    cell: ({ state }) => <RelativeTime date={dateFromText(state?.StartedAt ?? null)} />,
  },
  {
    id: 'restarts',
    head: 'Restarts',
    width: '88px',
    align: 'end',
    isExtra: true,
    cell: ({ state }) => state?.Restarts ?? 0,
  },
  {
    id: 'controls',
    head: 'Actions',
    width: '34%',
    cell: ({ name, allocation }) => <TaskControls allocation={allocation} task={name} />,
  },
]

function TaskBadge({ state }: { readonly state: TaskState | undefined }) {
  if (state === undefined) return <StatusBadge state="pending" />
  if (state.State !== 'dead') return <StatusBadge state={state.State} />
  return <StatusBadge state={state.Failed ? 'failed' : 'complete'} />
}

function Tasks({ allocation }: { readonly allocation: Allocation }) {
  const { TaskStates, Job } = allocation
  const group = Job.TaskGroups.find(({ Name }) => Name === allocation.TaskGroup)
  const rows = taskNames(allocation).map((name) => ({
    name,
    driver: group?.Tasks.find(({ Name }) => Name === name)?.Driver ?? '',
    state: TaskStates?.[name],
    allocation,
  }))
  return (
    <DataTable
      label="Tasks"
      columns={TASK_COLUMNS}
      rows={rows}
      keyOf={({ name }) => name}
      empty={
        <EmptyState title="No tasks">
          <p>Its job has been purged.</p>
        </EmptyState>
      }
    />
  )
}

function Timeline({ allocation }: { readonly allocation: Allocation }) {
  const moments = timelineEvents(allocation)
  if (moments.length === 0) return <p className="quiet">The node has not reported its state yet.</p>
  return (
    <ol className="timeline">
      {moments.map(({ key, timeNs, task, type, text, tone }) => (
        <li key={key} className={`tone-${tone}`}>
          <span className="timeline-when">
            <RelativeTime date={dateFromNs(timeNs)} />
          </span>
          <span className="timeline-what">
            <b>{type}</b> <span className="tag">{task}</span>
            {text !== '' && <span className="timeline-text">{text}</span>}
          </span>
        </li>
      ))}
    </ol>
  )
}
