import { StateBadge } from '../../parts/state-badge.tsx'

interface OutcomeBadgeProps {
  readonly status: string
  /** Why the policy was not asked; undefined when it was. */
  readonly skipped: string | undefined
}

/** What a policy said. The API lets one that was not asked pass, but it has approved nothing. */
export function OutcomeBadge({ status, skipped }: OutcomeBadgeProps) {
  if (skipped === undefined) return <StateBadge state={status} />
  return <StateBadge state="skipped" text="not asked" />
}
