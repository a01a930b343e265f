import type { Job, JobStatusAllocation, TaskGroup } from '@reeve/contract'
import { Icon } from '../../parts/icon.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { lookOf } from '../../parts/state.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { AllocationBar } from './allocation-bar.tsx'
import { countAllocations, SHOWN_STATUSES } from './allocation-counts.ts'
import { ScaleControl } from './scale-control.tsx'

/** Beyond this a wall of squares says less than a bar. */
const SQUARES_MAX = 600

interface StatusPanelProps {
  readonly job: Job
  readonly allocations: readonly JobStatusAllocation[]
}

/** One square for each allocation, by group. */
export function StatusPanel({ job, allocations }: StatusPanelProps) {
  const counts = countAllocations(allocations)
  const byGroup = Map.groupBy(allocations, ({ Group }) => Group)
  return (
    <Panel title="Allocations">
      <div className="legend">
        {SHOWN_STATUSES.filter((status) => counts[status] > 0).map((status) => (
          <StateBadge key={status} state={status} text={`${counts[status]} ${status}`} />
        ))}
        {allocations.length === 0 && <span className="quiet">There are none.</span>}
      </div>
      {job.TaskGroups.map((group) => (
        <GroupRow
          key={group.Name}
          job={job}
          group={group}
          allocations={byGroup.get(group.Name) ?? []}
        />
      ))}
    </Panel>
  )
}

interface GroupRowProps extends StatusPanelProps {
  readonly group: TaskGroup
}

function GroupRow({ job, group, allocations }: GroupRowProps) {
  const isSystem = job.Type.startsWith('sys')
  const isOver = job.Stop || job.Status === 'dead'
  const missing = isSystem || isOver ? 0 : Math.max(0, group.Count - allocations.length)
  return (
    <section className="group-row" aria-label={`Group ${group.Name}`}>
      <div>
        <div className="group-name">{group.Name}</div>
        <small>{describeGroup(job, group)}</small>
      </div>
      {allocations.length > SQUARES_MAX ? (
        <AllocationBar allocations={allocations} wanted={group.Count} />
      ) : (
        <Squares allocations={allocations} missing={missing} version={job.Version} />
      )}
      <ScaleControl job={job} group={group} />
    </section>
  )
}

function describeGroup({ Type }: Job, { Tasks, Count }: TaskGroup): string {
  const tasks = Tasks.map(({ Name, Driver }) => `${Name} (${Driver})`).join(', ')
  return Type.startsWith('sys') ? `on every node; ${tasks}` : `count ${Count}; ${tasks}`
}

interface SquaresProps {
  readonly allocations: readonly JobStatusAllocation[]
  readonly missing: number
  readonly version: number
}

function Squares({ allocations, missing, version }: SquaresProps) {
  return (
    <div className="squares">
      {allocations.map((allocation) => (
        <Square key={allocation.ID} allocation={allocation} version={version} />
      ))}
      {Array.from({ length: Math.min(missing, SQUARES_MAX) }, (_, index) => (
        <span key={index} className="square missing tone-warn" title="Not placed yet">
          <Icon name="pending" label="Not placed yet" />
        </span>
      ))}
    </div>
  )
}

interface SquareProps {
  readonly allocation: JobStatusAllocation
  readonly version: number
}

function Square({ allocation, version }: SquareProps) {
  const { ID, ClientStatus, JobVersion, DeploymentStatus } = allocation
  const { tone, icon } = lookOf(ClientStatus)
  const { Canary, Healthy } = DeploymentStatus
  const text = [
    `${ID.slice(0, 8)}: ${ClientStatus}`,
    ...(Canary ? ['canary'] : []),
    ...(Healthy === null ? [] : [Healthy ? 'healthy' : 'unhealthy']),
    ...(JobVersion === version ? [] : [`version ${JobVersion}`]),
  ].join(', ')
  return (
    <Link
      href={paths.allocation(ID)}
      className={`square tone-${tone}${Canary ? ' canary' : ''}`}
      title={text}
      aria-label={text}
    >
      <Icon name={Canary && ClientStatus === 'running' ? 'canary' : icon} />
    </Link>
  )
}
