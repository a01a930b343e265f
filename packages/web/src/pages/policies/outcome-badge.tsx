import { StatusBadge } from '../../parts/state-badge.tsx'

interface OutcomeBadgeProps {
  readonly status: string
  /** Why the policy was skipped; undefined if it was evaluated. */
  readonly skipped: string | undefined
}

/** Status of a policy. The API reports skipped policies as passed; they are shown as skipped. */
export function OutcomeBadge({ status, skipped }: OutcomeBadgeProps) {
  if (skipped === undefined) return <StatusBadge state={status} />
  return <StatusBadge state="skipped" text="not asked" />
}
