import type { ClientStatus, Job, JobStatusAllocation, TaskGroup } from '@reeve/contract'
import { Icon } from '../../parts/icon.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { lookOf } from '../../parts/state.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { AllocationBar } from './allocation-bar.tsx'
import {
  countsText,
  presentCounts,
  SHOWN_STATUSES,
  totalOf,
  type AllocationCounts,
} from './allocation-counts.ts'
import { ScaleControl } from './scale-control.tsx'
import { SQUARES_DRAWN_MAX, squaresTotal } from './squares.ts'
import { SquaresCanvas } from './squares-canvas.tsx'

/** Each of these is a link; more are a picture that leads to their list. */
const SQUARES_MAX = 600

/** What runs of one group. */
export interface GroupState {
  readonly counts: AllocationCounts
  /** Undefined where there are too many to list. */
  readonly allocations: readonly JobStatusAllocation[] | undefined
}

interface StatusPanelProps {
  readonly job: Job
  readonly stateOf: (group: string) => GroupState
}

/** One square for each allocation, by group. */
export function StatusPanel({ job, stateOf }: StatusPanelProps) {
  const states = job.TaskGroups.map(({ Name }) => stateOf(Name))
  const sum = (status: ClientStatus) => states.reduce((all, { counts }) => all + counts[status], 0)
  const shown = SHOWN_STATUSES.filter((status) => sum(status) > 0)
  return (
    <Panel title="Allocations">
      <div className="legend">
        {shown.map((status) => (
          <StateBadge key={status} state={status} text={`${sum(status)} ${status}`} />
        ))}
        {shown.length === 0 && <span className="quiet">There are none.</span>}
      </div>
      {job.TaskGroups.map((group) => (
        <GroupRow key={group.Name} job={job} group={group} state={stateOf(group.Name)} />
      ))}
    </Panel>
  )
}

interface GroupRowProps {
  readonly job: Job
  readonly group: TaskGroup
  readonly state: GroupState
}

function GroupRow({ job, group, state: { counts, allocations } }: GroupRowProps) {
  const isSystem = job.Type.startsWith('sys')
  const isOver = job.Stop || job.Status === 'dead'
  const wanted = isSystem || isOver ? 0 : group.Count
  const missing = Math.max(0, wanted - totalOf(counts))
  return (
    <section className="group-row" aria-label={`Group ${group.Name}`}>
      <div>
        <div className="group-name">{group.Name}</div>
        <small>{describeGroup(job, group)}</small>
      </div>
      {allocations === undefined || allocations.length + missing > SQUARES_MAX ? (
        <ManySquares job={job} counts={counts} wanted={wanted} />
      ) : (
        <Squares allocations={allocations} missing={missing} version={job.Version} />
      )}
      <ScaleControl job={job} group={group} />
    </section>
  )
}

interface ManySquaresProps {
  readonly job: Job
  readonly counts: AllocationCounts
  readonly wanted: number
}

function ManySquares({ job, counts, wanted }: ManySquaresProps) {
  const shown = presentCounts(job, counts)
  const missing = Math.max(0, wanted - totalOf(shown))
  const name = { namespace: job.Namespace, id: job.ID }
  return (
    <div>
      <AllocationBar counts={shown} wanted={wanted} />
      {squaresTotal(shown, missing) <= SQUARES_DRAWN_MAX && (
        <SquaresCanvas
          counts={shown}
          missing={missing}
          text={countsText(shown, missing)}
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
  readonly missing: number
  readonly version: number
}

function Squares({ allocations, missing, version }: SquaresProps) {
  return (
    <div className="squares">
      {allocations.map((allocation) => (
        <Square key={allocation.ID} allocation={allocation} version={version} />
      ))}
      {Array.from({ length: missing }, (_, index) => (
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
  const { tone, icon } = lookOf(Health)
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
