import type { v2 } from '@reeve/contract'
import { Ago } from '../../parts/ago.tsx'
import { dateOfText } from '../../parts/time.ts'

/** Who passed over policies, and why. */
export function OverrideNote({ override }: { readonly override: v2.OverrideRecord | null }) {
  if (override === null) return null
  return (
    <p className="override-note">
      Overridden by <strong>{override.username}</strong>{' '}
      <Ago date={dateOfText(override['overridden-at'])} />
      {override.comment === null || override.comment === '' ? '.' : `: “${override.comment}”`}
    </p>
  )
}
