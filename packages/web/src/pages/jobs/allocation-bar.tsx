import { statusStyle } from '../../parts/state.ts'
import {
  countsText,
  SHOWN_STATUSES,
  totalCount,
  type AllocationCounts,
} from './allocation-counts.ts'

interface AllocationBarProps {
  readonly counts: AllocationCounts
  /** Desired number of allocations. */
  readonly desired: number
}

/** Allocations by status as a bar, with the counts as text. */
export function AllocationBar({ counts, desired }: AllocationBarProps) {
  const shownStatuses = SHOWN_STATUSES.filter((status) => counts[status] > 0)
  const unplaced = Math.max(0, desired - totalCount(counts))
  const text = countsText(counts, unplaced)
  if (text === '') return <span className="quiet">–</span>
  return (
    <span className="alloc-bar" title={text}>
      <span className="alloc-track" aria-hidden="true">
        {shownStatuses.map((status) => (
          <span
            key={status}
            className={`tone-${statusStyle(status).tone}`}
            style={{ flexGrow: counts[status] }}
          />
        ))}
        {unplaced > 0 && <span className="missing" style={{ flexGrow: unplaced }} />}
      </span>
      <span className="alloc-words">{text}</span>
    </span>
  )
}
