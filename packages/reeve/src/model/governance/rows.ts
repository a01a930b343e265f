import type { v2 } from '@reeve/contract'
import type { PendingUpload } from './workspace-rows.ts'

/**
 * Governance records as they are stored: camelCase, times in milliseconds, references by ID.
 * `http/v2` converts them to JSON:API documents.
 */

type ExecutionMode = (typeof v2.EXECUTION_MODES)[number]
export type OrganizationAccess = v2.OrganizationAccess

/**
 * Rows refer to organizations by `id`, which never changes. The ID of an organization in the API is
 * its name.
 */
export interface OrganizationRow {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly createdMs: number
  readonly defaultProjectId: string
  readonly ownersTeamId: string
  readonly allowForceDeleteWorkspaces: boolean
  readonly defaultExecutionMode: ExecutionMode
  readonly userTokensEnabled: boolean
  readonly requireOverrideComment: boolean
  readonly sessionTimeout: number | null
  readonly sessionRemember: number | null
  readonly collaboratorAuthPolicy: (typeof v2.COLLABORATOR_AUTH_POLICIES)[number]
}

export interface UserRow {
  readonly id: string
  readonly username: string
  readonly email: string
  readonly isAdmin: boolean
  readonly createdMs: number
}

/** A user in an organization. */
export interface OrganizationMembershipRow {
  readonly id: string
  readonly organizationId: string
  readonly userId: string
  readonly email: string
  readonly status: (typeof v2.MEMBERSHIP_STATUSES)[number]
  readonly createdMs: number
}

export interface TeamRow {
  readonly id: string
  readonly organizationId: string
  readonly name: string
  readonly isOwners: boolean
  readonly visibility: (typeof v2.TEAM_VISIBILITIES)[number]
  readonly allowMemberTokenManagement: boolean
  /** Permissions of the team in the whole organization, including implied ones. */
  readonly organizationAccess: readonly OrganizationAccess[]
  readonly createdMs: number
}

/** A member of an organization in one of its teams; invited members may already be in teams. */
export interface TeamMembershipRow {
  readonly teamId: string
  readonly membershipId: string
  readonly organizationId: string
  readonly userId: string
}

export type ApiTokenKind = 'user' | 'team' | 'organization' | 'audit-trails'

/** A bearer token: only its hash is stored. */
export interface ApiTokenRow {
  readonly id: string
  readonly kind: ApiTokenKind
  /** The user, team or organization that the token authenticates. */
  readonly ownerId: string
  /** Null for user tokens, which belong to no organization. */
  readonly organizationId: string | null
  readonly secretHash: string
  readonly description: string | null
  readonly createdById: string
  readonly createdMs: number
  readonly lastUsedMs: number | null
  readonly expiresMs: number | null
}

export interface ProjectRow {
  readonly id: string
  readonly organizationId: string
  readonly name: string
  readonly description: string | null
  readonly autoDestroyActivityDuration: string | null
  readonly isDefault: boolean
  readonly createdMs: number
}

/** A workload namespace that belongs to a project. */
export interface ProjectNamespaceRow {
  readonly namespace: string
  readonly projectId: string
  readonly organizationId: string
}

/** A tag on a project or workspace itself; inherited tags are computed on read. */
export interface TagBindingRow {
  readonly id: string
  readonly organizationId: string
  readonly ownerType: 'project' | 'workspace'
  readonly ownerId: string
  readonly key: string
  /** Empty for a tag without a value. */
  readonly value: string
  readonly createdMs: number
}

export interface ReservedTagKeyRow {
  readonly id: string
  readonly organizationId: string
  readonly key: string
  readonly disableOverrides: boolean
  readonly createdMs: number
  readonly updatedMs: number
}

export interface WorkspaceLock {
  readonly byType: 'users' | 'teams' | 'runs'
  readonly byId: string
  /** Name of the lock holder in errors. */
  readonly byName: string
  readonly reason: string | null
}

export interface WorkspaceRow {
  readonly id: string
  readonly organizationId: string
  readonly projectId: string
  readonly name: string
  readonly description: string | null
  readonly createdMs: number
  readonly updatedMs: number
  /** Time of the last infrastructure change, from which inactivity is measured. */
  readonly latestChangeMs: number
  readonly lock: WorkspaceLock | null
  readonly executionMode: ExecutionMode
  readonly overwritesExecutionMode: boolean
  readonly autoApply: boolean
  /** Absent in rows of earlier versions, which had no run triggers. */
  readonly autoApplyRunTrigger?: boolean
  readonly autoDestroyAtMs: number | null
  /** Mirrors the project's value while it is inherited. */
  readonly autoDestroyActivityDuration: string | null
  readonly autoDestroyStatus: (typeof v2.AUTO_DESTROY_STATUSES)[number] | null
  readonly inheritsProjectAutoDestroy: boolean
  /** Time between two drift checks; null or absent if there are none. */
  readonly driftCheckInterval?: string | null
  /** Time at which the latest drift check was queued. */
  readonly driftCheckedMs?: number
  /** Which runs may read the outputs; absent in rows of earlier versions, which share nothing. */
  readonly remoteState?: RemoteStateSharing
  readonly source: (typeof v2.WORKSPACE_SOURCES)[number]
  readonly sourceName: string | null
  readonly sourceUrl: string | null
  readonly workingDirectory: string | null
  readonly toolVersion: string | null
}

/** Workspaces whose runs may read the outputs of a workspace. */
export interface RemoteStateSharing {
  /** All workspaces of the organization. */
  readonly global: boolean
  /** All workspaces of the same project. */
  readonly project: boolean
  /** Further workspaces; they may have been deleted since. */
  readonly consumerIds: readonly string[]
}

type ProjectAccessDocument = v2.TeamProjectAccess['attributes']

/**
 * Access of a team to one project. The two objects contain the effective permissions of any level.
 */
export interface TeamProjectRow {
  readonly id: string
  readonly organizationId: string
  readonly teamId: string
  readonly projectId: string
  readonly access: v2.ProjectAccessLevel
  readonly projectAccess: ProjectAccessDocument['project-access']
  readonly workspaceAccess: ProjectAccessDocument['workspace-access']
}

/** Access of a team to one workspace, beyond that of its project. */
export interface TeamWorkspaceRow {
  readonly id: string
  readonly organizationId: string
  readonly teamId: string
  readonly workspaceId: string
  readonly projectId: string
  readonly access: v2.WorkspaceAccessLevel
  readonly values: Omit<v2.TeamWorkspaceAccess['attributes'], 'access'>
}

/** The upload that is a policy's current code. */
export interface PolicyCode {
  /** ID of the row that owns the text. */
  readonly id: string
  readonly bytes: number
  readonly sha256: string
  readonly diagnostics: readonly v2.PolicyDiagnostic[]
}

/**
 * One upload of policy code. The text is a blob named by its hash: equal texts share one, which is
 * deleted with its last upload.
 */
export interface PolicyCodeRow {
  readonly id: string
  readonly organizationId: string
  /** A policy, or a version of a policy set. */
  readonly ownerId: string
  readonly sha256: string
  readonly bytes: number
  readonly createdMs: number
  readonly createdById: string
}

type PolicyDocument = v2.RunPolicy['attributes']

/** A policy on runs, not on access control. */
export interface RunPolicyRow {
  readonly id: string
  readonly organizationId: string
  readonly name: string
  readonly description: string | null
  readonly kind: PolicyDocument['kind']
  readonly query: string | null
  readonly enforcementLevel: PolicyDocument['enforcement-level']
  readonly createdMs: number
  readonly updatedMs: number | null
  /** Null before the first upload. */
  readonly code: PolicyCode | null
}

type PolicySetDocument = v2.PolicySet['attributes']

export interface PolicySetRow {
  readonly id: string
  readonly organizationId: string
  readonly name: string
  readonly description: string | null
  readonly global: boolean
  readonly kind: PolicySetDocument['kind']
  readonly overridable: boolean | null
  readonly agentEnabled: boolean
  readonly policyToolVersion: string | null
  readonly policiesPath: string | null
  readonly policyUpdatePatterns: readonly string[]
  readonly tagSelectors: readonly v2.TagSelector[]
  readonly scopingType: PolicySetDocument['scoping-type']
  /** The newest ready version. Null while the set uses policy records. */
  readonly currentVersionId: string | null
  /** The version created last, whatever its state. */
  readonly newestVersionId: string | null
  readonly createdMs: number
  readonly updatedMs: number
}

export type PolicySetRelation =
  | 'policies'
  | 'workspaces'
  | 'projects'
  | 'namespaces'
  | 'workspace-exclusions'
  | 'project-exclusions'

/** One member of one relationship of a policy set. */
export interface PolicySetMemberRow {
  readonly policySetId: string
  readonly organizationId: string
  readonly relation: PolicySetRelation
  readonly memberId: string
}

export interface PolicySetParameterRow {
  readonly id: string
  readonly organizationId: string
  readonly policySetId: string
  readonly key: string
  /** Sealed if it is sensitive. */
  readonly value: string
  readonly sensitive: boolean
  readonly createdMs: number
}

/** A policy in the archive of a policy set's version. */
export interface VersionedPolicy {
  readonly name: string
  readonly description: string | null
  readonly query: string | null
  readonly enforcementLevel: PolicyDocument['enforcement-level']
  readonly sha256: string
  /** Its own values, as JSON data. */
  readonly params: Readonly<Record<string, unknown>>
}

/** The policies of a set as one archive. */
export interface PolicySetVersionRow {
  readonly id: string
  readonly organizationId: string
  readonly policySetId: string
  readonly status: v2.PolicySetVersion['attributes']['status']
  /** Times of entering its states, by `<state>-at`. */
  readonly statusMs: Readonly<Record<string, number>>
  readonly error: string | null
  readonly createdMs: number
  readonly updatedMs: number
  /** Sorted by name; empty unless the version is ready. */
  readonly policies: readonly VersionedPolicy[]
  /** Values for all policies, as JSON data. */
  readonly params: Readonly<Record<string, unknown>>
  /** Kept after the upload; absent in rows of earlier versions. */
  readonly upload?: PendingUpload
}
