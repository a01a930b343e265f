import type { v2 } from '@reeve/contract'

/** A value that the runs of a workspace get; variables of jobs are something else. */
export interface RunVariableRow {
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly key: string
  /** Sealed when it is sensitive. */
  readonly value: string
  readonly description: string | null
  readonly category: v2.WorkspaceVariable['attributes']['category']
  readonly hcl: boolean
  readonly sensitive: boolean
  /** Another one after each change. */
  readonly versionId: string
  readonly createdMs: number
}
