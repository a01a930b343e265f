import { failureOf, type Allocation, type TaskState, type CheckResult } from '@reeve/contract'
import { ActionButton } from '../../components/action-button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { dateFromNs, dateFromText, formatMegabytes } from '../../format.ts'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { useConfirm } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { DescriptionList, Panel } from '../../components/page.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { useApiAction } from '../../data/api-action.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { paths } from '../../paths.ts'
import { allocationDisabledReason, runningTasks } from '../../permissions/allocation.ts'
import { Link } from '../../routing/link.tsx'
import { useSession } from '../../session/session.tsx'
import { FailureBanner } from '../jobs/failure-banner.tsx'
import { taskNames, type AllocationView } from './allocation-view.tsx'
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
    { name: 'Created', value: <RelativeTime date={dateFromNs(allocation.CreateTime)} /> },
    { name: 'Updated', value: <RelativeTime date={dateFromNs(allocation.ModifyTime)} /> },
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

/** Checks are polled, because no event reports their results. */
const POLL_INTERVAL_MS = 5_000

/** The latest results of the health checks; empty without checks. */
function ChecksPanel({ allocation }: { readonly allocation: Allocation }) {
  const { ID, ClientStatus } = allocation
  const { data } = useApiQuery(
    ['allocation-checks', ID],
    (api, signal) => api.v1.readAllocationChecks({ params: { alloc_id: ID }, signal }),
    { enabled: ClientStatus === 'running', pollIntervalMs: POLL_INTERVAL_MS },
  )
  const checks = Object.values(data ?? {})
  if (checks.length === 0) return null
  return (
    <Panel title="Health checks">
      <ul className="reasons">
        {checks.map((check) => (
          <Check key={check.ID} check={check} />
        ))}
      </ul>
    </Panel>
  )
}

const STATES = { success: 'passing', failure: 'failed', pending: 'pending' } as const

function Check({ check }: { readonly check: CheckResult }) {
  const { Check: name, Service, Status, Output, StatusCode } = check
  return (
    <li>
      <StatusBadge state={STATES[Status]} text={Status} /> <b>{name}</b>{' '}
      <span className="quiet">
        of {Service}
        {StatusCode === undefined ? '' : `, status ${StatusCode}`}
      </span>
      {Output !== '' && <pre className="quiet">{Output}</pre>}
    </li>
  )
}

interface TaskControlsProps {
  readonly allocation: Allocation
  readonly task: string
}

/** Links and buttons for one task. */
function TaskControls({ allocation, task }: TaskControlsProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const confirm = useConfirm()
  const { ID, Namespace: namespace } = allocation
  const disabledReason =
    allocationDisabledReason.restart(allocation, permissions) ??
    (runningTasks(allocation).includes(task) ? undefined : 'The task is not running.')
  const restart = async () => {
    const title = `Restart the task ${task}?`
    const body = 'Its process is restarted on the same node.'
    if (!(await confirm({ title, body, action: 'Restart the task' }))) return
    await callApi({
      call: (api) =>
        api.v1.restartAllocation({
          params: { alloc_id: ID },
          query: { namespace },
          body: { TaskName: task },
        }),
      successMessage: `${task} is restarting.`,
    })
  }
  return (
    <span className="row task-controls">
      <Link href={paths.allocation(ID, 'logs', task)}>
        Logs<span className="hidden"> of {task}</span>
      </Link>
      <Link href={paths.allocation(ID, 'terminal', task)}>
        Terminal<span className="hidden"> in {task}</span>
      </Link>
      <ActionButton disabledReason={disabledReason} onAction={restart}>
        Restart<span className="hidden"> {task}</span>
      </ActionButton>
    </span>
  )
}
