import type { v2 } from '@reeve/contract'
import type { StatusTimes } from './run-rows.ts'

/** An upload that a URL without a token may make, once and for a while. */
export interface PendingUpload {
  /** Of the key in the path of the URL. */
  readonly keyHash: string
  readonly expiresMs: number
  /** The token of the request that created it, without which the URL does not work. */
  readonly tokenId: string
}

type ConfigurationDocument = v2.ConfigurationVersion['attributes']

/** One upload of the files that runs plan; the archive is a sealed blob. */
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
  /** Why the archive was refused. */
  readonly error: string | null
  /** Stays after the upload: a second one is told apart from a wrong key. */
  readonly upload: PendingUpload
  /** Of the archive; null where none is kept. */
  readonly bytes: number | null
  readonly sha256: string | null
  readonly createdMs: number
  readonly createdById: string
  readonly createdByName: string
}

/**
 * A part of a sealed blob, in the order of their ids. What the blob belongs to says how long it is:
 * before that is written, nobody reads the parts.
 */
export interface BlobPartRow {
  /** The owner and the place of the part among the others. */
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly ownerId: string
}
