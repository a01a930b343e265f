import { lookOf } from '../../parts/state.ts'
import { countsText, SHOWN_STATUSES, totalOf, type AllocationCounts } from './allocation-counts.ts'

interface AllocationBarProps {
  readonly counts: AllocationCounts
  /** How many there should be. */
  readonly wanted: number
}

/** The allocations of a job as a bar, with the numbers in words. */
export function AllocationBar({ counts, wanted }: AllocationBarProps) {
  const shown = SHOWN_STATUSES.filter((status) => counts[status] > 0)
  const missing = Math.max(0, wanted - totalOf(counts))
  const text = countsText(counts, missing)
  if (text === '') return <span className="quiet">–</span>
  return (
    <span className="alloc-bar" title={text}>
      <span className="alloc-track" aria-hidden="true">
        {shown.map((status) => (
          <span
            key={status}
            className={`tone-${lookOf(status).tone}`}
            style={{ flexGrow: counts[status] }}
          />
        ))}
        {missing > 0 && <span className="missing" style={{ flexGrow: missing }} />}
      </span>
      <span className="alloc-words">{text}</span>
    </span>
  )
}
