import type { v2 } from '@reeve/contract'

/** What every pane beside the code of a policy is given. */
export interface PaneProps {
  readonly organization: v2.Organization
  readonly policy: v2.RunPolicy
  /** As it is in the editor. */
  readonly code: string
  /** Whether it differs from what is stored. */
  readonly isChanged: boolean
  /** The lines that gave the reasons, to be shown in the editor. */
  readonly onFailing: (lines: readonly number[]) => void
}
