import { useState } from 'react'
import type { ClientStatus, Job, JobStatusAllocation, TaskGroup } from '@reeve/contract'
import { ActionButton } from '../../components/action-button.tsx'
import { Icon } from '../../components/icon.tsx'
import { Panel } from '../../components/page.tsx'
import { StatusBadge, statusStyle } from '../../components/status-badge.tsx'
import { useApiAction } from '../../data/api-action.ts'
import { paths } from '../../paths.ts'
import { jobDisabledReason } from '../../permissions/job.ts'
import { Link } from '../../routing/link.tsx'
import { useSession } from '../../session/session.tsx'
import { AllocationBar, AllocationGrid } from './allocation-graphics.tsx'
import {
  countsText,
  currentCounts,
  SHOWN_STATUSES,
  totalCount,
  type AllocationCounts,
} from './allocation-counts.ts'
import { GRID_SQUARES_MAX, gridTotal } from './allocation-grid.ts'

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
        <span key={index} className="square missing tone-warn" title="Placement failures">
          <Icon name="pending" label="Placement failures" />
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

interface ScaleControlProps {
  readonly job: Job
  readonly group: TaskGroup
}

const COUNT_MAX = 1_000_000

function ScaleControl({ job, group }: ScaleControlProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const [typed, setTyped] = useState<string>()
  const count = typed === undefined ? group.Count : parseCount(typed)
  const isChanged =
    Number.isInteger(count) && count >= 0 && count <= COUNT_MAX && count !== group.Count
  const disabledReason =
    jobDisabledReason.scale(job, permissions) ??
    (isChanged ? undefined : 'Enter another count first.')
  const scale = async () => {
    await callApi({
      call: (api) =>
        api.v1.scaleJob({
          params: { job_id: job.ID },
          query: { namespace: job.Namespace },
          body: { Count: count, Target: { Group: group.Name }, Message: 'scaled in the web UI' },
        }),
      successMessage: `${group.Name} is scaled to ${count}.`,
    })
    setTyped(undefined)
  }
  return (
    <form className="row" onSubmit={(event) => event.preventDefault()}>
      <input
        type="number"
        min={0}
        max={COUNT_MAX}
        className="count-input"
        aria-label={`Count of the group ${group.Name}`}
        value={typed ?? group.Count}
        onChange={(event) => setTyped(event.target.value)}
      />
      <ActionButton disabledReason={disabledReason} onAction={scale} isSubmit>
        Scale
      </ActionButton>
    </form>
  )
}

/** Parses a count; an empty field is not 0. */
function parseCount(typed: string): number {
  return typed.trim() === '' ? Number.NaN : Number(typed)
}
