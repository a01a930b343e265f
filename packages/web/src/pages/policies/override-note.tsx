import type { v2 } from '@reeve/contract'
import { RelativeTime } from '../../parts/ago.tsx'
import { dateFromText } from '../../parts/time.ts'

/** Shows who overrode the policies, and the comment. */
export function OverrideNote({ override }: { readonly override: v2.OverrideRecord | null }) {
  if (override === null) return null
  return (
    <p className="override-note">
      Overridden by <strong>{override.username}</strong>{' '}
      <RelativeTime date={dateFromText(override['overridden-at'])} />
      {override.comment === null || override.comment === '' ? '.' : `: “${override.comment}”`}
    </p>
  )
}
