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
