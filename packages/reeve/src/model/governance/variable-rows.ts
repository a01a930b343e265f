import type { v2 } from '@reeve/contract'

/** What variables of workspaces and of variable sets have; variables of jobs are something else. */
export interface VariableFields {
  readonly id: string
  readonly organizationId: string
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

/** A value that the runs of a workspace get. */
export interface RunVariableRow extends VariableFields {
  readonly workspaceId: string
}

/** A value that the runs of all workspaces get to which a variable set applies. */
export interface SetVariableRow extends VariableFields {
  readonly variableSetId: string
}

export interface VariableSetRow {
  readonly id: string
  readonly organizationId: string
  /** The project that owns it; null for a set of the organization. */
  readonly projectId: string | null
  readonly name: string
  readonly description: string | null
  readonly global: boolean
  readonly priority: boolean
  readonly createdMs: number
  readonly updatedMs: number
}

/** One workspace or project to which a variable set applies. */
export interface VariableSetMemberRow {
  readonly variableSetId: string
  readonly organizationId: string
  readonly relation: 'workspaces' | 'projects'
  readonly memberId: string
}
