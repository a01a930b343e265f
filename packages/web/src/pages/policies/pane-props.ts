import type { v2 } from '@reeve/contract'

/** Props of every pane beside the code of a policy. */
export interface PaneProps {
  readonly organization: v2.Organization
  readonly policy: v2.RunPolicy
  /** Code in the editor. */
  readonly code: string
  /** Whether the code differs from the stored one. */
  readonly isChanged: boolean
  /** Called with the lines of the findings, to highlight them in the editor. */
  readonly onFailingLines: (lines: readonly number[]) => void
}
