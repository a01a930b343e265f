import type { v2 } from '@reeve/contract'
import type { StatusTimes } from './run-rows.ts'

/** A pending upload by URL, which needs no token and is possible once and for a limited time. */
export interface PendingUpload {
  /** Hash of the key in the path of the URL. */
  readonly keyHash: string
  readonly expiresMs: number
  /** The token of the request that created the upload; the URL is invalid without it. */
  readonly tokenId: string
}

type ConfigurationDocument = v2.ConfigurationVersion['attributes']

/** An upload of configuration files for runs; the archive is a sealed blob. */
export interface ConfigurationVersionRow {
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly status: ConfigurationDocument['status']
  readonly statusMs: StatusTimes
  readonly source: ConfigurationDocument['source']
  readonly autoQueueRuns: boolean
  readonly speculative: boolean
  readonly provisional: boolean
  /** The reason why the archive was rejected. */
  readonly error: string | null
  /** Kept after the upload, to distinguish a second upload from an invalid key. */
  readonly upload: PendingUpload
  /** Size of the archive; null if it is not stored. */
  readonly bytes: number | null
  readonly sha256: string | null
  readonly createdMs: number
  readonly createdById: string
  readonly createdByName: string
  /** Host and port of the request that created it; absent in rows of earlier versions. */
  readonly host?: string
}

/**
 * A part of a sealed blob; parts are ordered by ID. The length of the blob is stored in its owner,
 * which is written last: until then the parts are not read.
 */
export interface BlobPartRow {
  /** The owner and the position of the part. */
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly ownerId: string
}

/** A blob of a state version: its size as uploaded and as stored. */
export interface StoredState {
  readonly bytes: number
  readonly storedBytes: number
}

/**
 * One state of a workspace. The state itself, its JSON form, and the data read from it (outputs and
 * resources) are sealed blobs.
 */
export interface StateVersionRow {
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly status: v2.StateVersion['attributes']['status']
  readonly serial: number
  readonly lineage: string | null
  readonly md5: string
  /** Null if the state was part of the request. */
  readonly upload: PendingUpload | null
  readonly jsonUpload: PendingUpload | null
  /** Null before the upload. */
  readonly state: StoredState | null
  readonly jsonState: StoredState | null
  readonly digest: StoredState | null
  readonly format: number | null
  readonly toolVersion: string | null
  readonly resourceCount: number
  /** Written during the apply of a run: only the last one of a run is kept. */
  readonly intermediate: boolean
  readonly runId: string | null
  /** The state version that this one restores. */
  readonly rollbackOfId: string | null
  readonly createdMs: number
  readonly createdById: string
  readonly createdByName: string
}

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

/** A webhook that receives run events of a workspace. */
export interface NotificationConfigurationRow {
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly name: string
  readonly destinationType: (typeof v2.NOTIFICATION_DESTINATIONS)[number]
  /** Sealed: a URL may hold a secret. */
  readonly url: string
  /** Sealed; null where bodies are not signed. */
  readonly token: string | null
  readonly enabled: boolean
  readonly triggers: readonly v2.NotificationTrigger[]
  readonly createdMs: number
  readonly updatedMs: number
  /** Earlier events are not delivered. */
  readonly enabledMs: number
  readonly lastDelivery: NotificationDelivery | null
}

/** One attempt to deliver a notification. */
export interface NotificationDelivery {
  readonly atMs: number
  /** Null if there was no response. */
  readonly code: number | null
  /** Beginning of the response body, or the error. */
  readonly body: string
  readonly successful: boolean
}

/** A delivery of one occurrence to a receiver, completed or still to be retried. */
export interface NotificationRow {
  /** Derived from configuration and occurrence: one occurrence is delivered once. */
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly configurationId: string
  readonly attempts: number
  readonly atMs: number
  /** Time of the next attempt; null once it is delivered or abandoned. */
  readonly retryMs: number | null
}

const HOUR_MS = 3_600_000

/** Converts an inactivity duration, `14d` or `8h`; the schema has validated the format. */
export function inactivityMs(duration: string): number {
  const hours = Number.parseInt(duration, 10) * (duration.endsWith('d') ? 24 : 1)
  return hours * HOUR_MS
}
