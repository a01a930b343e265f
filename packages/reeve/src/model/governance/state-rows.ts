import type { v2 } from '@reeve/contract'
import type { PendingUpload } from './configuration-rows.ts'

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
