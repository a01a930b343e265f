import type { v2 } from '@reeve/contract'

/** Fields of variables of workspaces and variable sets. Unrelated to variables of jobs. */
export interface VariableFields {
  readonly id: string
  readonly organizationId: string
  readonly key: string
  /** Sealed if it is sensitive. */
  readonly value: string
  readonly description: string | null
  readonly category: v2.WorkspaceVariable['attributes']['category']
  readonly hcl: boolean
  readonly sensitive: boolean
  /** Changes with each update. */
  readonly versionId: string
  readonly createdMs: number
}

/** A variable for the runs of a workspace. */
export interface RunVariableRow extends VariableFields {
  readonly workspaceId: string
}

/** A variable for the runs of all workspaces that a variable set applies to. */
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
