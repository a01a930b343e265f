import type { ClientStatus, Job, JobStatusAllocation, TaskGroup } from '@reeve/contract'
import { Icon } from '../../parts/icon.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { statusStyle } from '../../parts/state.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { AllocationBar } from './allocation-bar.tsx'
import {
  countsText,
  currentCounts,
  SHOWN_STATUSES,
  totalCount,
  type AllocationCounts,
} from './allocation-counts.ts'
import { ScaleControl } from './scale-control.tsx'
import { GRID_SQUARES_MAX, gridTotal } from './squares.ts'
import { AllocationGrid } from './squares-canvas.tsx'

/** Maximum number of squares that are links; more are drawn on a canvas. */
const LINKED_SQUARES_MAX = 600

/** The allocations of one group. */
export interface GroupAllocations {
  readonly counts: AllocationCounts
  /** Undefined if there are too many to list. */
  readonly allocations: readonly JobStatusAllocation[] | undefined
}

interface StatusPanelProps {
  readonly job: Job
  readonly allocationsOf: (group: string) => GroupAllocations
}

/** One square per allocation, by group. */
export function StatusPanel({ job, allocationsOf }: StatusPanelProps) {
  const groups = job.TaskGroups.map(({ Name }) => allocationsOf(Name))
  const sum = (status: ClientStatus) => groups.reduce((all, { counts }) => all + counts[status], 0)
  const shown = SHOWN_STATUSES.filter((status) => sum(status) > 0)
  return (
    <Panel title="Allocations">
      <div className="legend">
        {shown.map((status) => (
          <StatusBadge key={status} state={status} text={`${sum(status)} ${status}`} />
        ))}
        {shown.length === 0 && <span className="quiet">There are none.</span>}
      </div>
      {job.TaskGroups.map((group) => (
        <GroupRow key={group.Name} job={job} group={group} state={allocationsOf(group.Name)} />
      ))}
    </Panel>
  )
}

interface GroupRowProps {
  readonly job: Job
  readonly group: TaskGroup
  readonly state: GroupAllocations
}

function GroupRow({ job, group, state: { counts, allocations } }: GroupRowProps) {
  const isSystem = job.Type.startsWith('sys')
  const isTerminal = job.Stop || job.Status === 'dead'
  const desired = isSystem || isTerminal ? 0 : group.Count
  const unplaced = Math.max(0, desired - totalCount(counts))
  return (
    <section className="group-row" aria-label={`Group ${group.Name}`}>
      <div>
        <div className="group-name">{group.Name}</div>
        <small>{describeGroup(job, group)}</small>
      </div>
      {allocations === undefined || allocations.length + unplaced > LINKED_SQUARES_MAX ? (
        <CountedSquares job={job} counts={counts} desired={desired} />
      ) : (
        <Squares allocations={allocations} unplaced={unplaced} version={job.Version} />
      )}
      <ScaleControl job={job} group={group} />
    </section>
  )
}

interface CountedSquaresProps {
  readonly job: Job
  readonly counts: AllocationCounts
  readonly desired: number
}

function CountedSquares({ job, counts, desired }: CountedSquaresProps) {
  const shown = currentCounts(job, counts)
  const unplaced = Math.max(0, desired - totalCount(shown))
  const name = { namespace: job.Namespace, id: job.ID }
  return (
    <div>
      <AllocationBar counts={shown} desired={desired} />
      {gridTotal(shown, unplaced) <= GRID_SQUARES_MAX && (
        <AllocationGrid
          counts={shown}
          unplaced={unplaced}
          text={countsText(shown, unplaced)}
          href={paths.job(name, 'allocations')}
        />
      )}
    </div>
  )
}

function describeGroup({ Type }: Job, { Tasks, Count }: TaskGroup): string {
  const tasks = Tasks.map(({ Name, Driver }) => `${Name} (${Driver})`).join(', ')
  return Type.startsWith('sys') ? `on every node; ${tasks}` : `count ${Count}; ${tasks}`
}

interface SquaresProps {
  readonly allocations: readonly JobStatusAllocation[]
  readonly unplaced: number
  readonly version: number
}

function Squares({ allocations, unplaced, version }: SquaresProps) {
  return (
    <div className="squares">
      {allocations.map((allocation) => (
        <Square key={allocation.ID} allocation={allocation} version={version} />
      ))}
      {Array.from({ length: unplaced }, (_, index) => (
        <span key={index} className="square missing tone-warn" title="Not placed">
          <Icon name="pending" label="Not placed" />
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
  const { ID, Health, JobVersion } = allocation
  const { tone, icon } = statusStyle(Health)
  const { Canary } = allocation.DeploymentStatus
  const text = [
    `${ID.slice(0, 8)}: ${Health}`,
    ...(Canary ? ['canary'] : []),
    ...(JobVersion === version ? [] : [`version ${JobVersion}`]),
  ].join(', ')
  return (
    <Link
      href={paths.allocation(ID)}
      className={`square tone-${tone}${Canary ? ' canary' : ''}`}
      title={text}
      aria-label={text}
    >
      <Icon name={Canary && allocation.ClientStatus === 'running' ? 'canary' : icon} />
    </Link>
  )
}
