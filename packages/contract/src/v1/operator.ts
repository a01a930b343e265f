import { put, putOnly, read, routes } from './define.ts'
import * as t from './shared-schemas.ts'

/** Format version of a snapshot; a reader rejects versions that it does not know. */
export const SNAPSHOT_VERSION = 1

/**
 * One line of a snapshot, in this order: header, blobs, index, rows, and a trailer with the number
 * of blobs and the SHA-256 of all preceding lines. The format is specific to this product.
 */
export type SnapshotLine =
  | { readonly Snapshot: string; readonly Version: number; readonly Time: string }
  | { readonly Blob: string; readonly Data: string }
  | { readonly Index: number; readonly Rows: number }
  | { readonly Row: SnapshotRowName; readonly Body: string }
  | { readonly Blobs: number; readonly Checksum: string }

export type SnapshotRowName = readonly [
  table: string,
  key: string,
  createIndex: number,
  modifyIndex: number,
]

/**
 * Largest snapshot that running servers restore: it is one commit, which is applied at once. A
 * larger one is restored into an empty storage.
 */
export const SNAPSHOT_BYTES_MAX = 128 * 1024 * 1024

export const SnapshotRestoreResponse = t.Named('SnapshotRestoreResponse', {
  Index: t.Index('Index of the commit that restored the snapshot.'),
  SnapshotIndex: t.Index('Index of the state when the snapshot was saved.'),
  Rows: t.Integer({ description: 'Rows of the snapshot.' }),
})
export type SnapshotRestoreResponse = t.Infer<typeof SnapshotRestoreResponse>

export const snapshotRoutes = routes('Operator', {
  saveSnapshot: read('/operator/snapshot', {
    summary: 'Copy the whole state as of one index, one JSON object on each line.',
    answeredBy: 'leader',
    audit: 'always',
    cost: 16,
    streams: true,
    returns: {
      description: 'The copy. Secrets in it are sealed; it is whole when its last line is there.',
      schema: t.String(),
      contentType: t.TEXT_TYPE,
    },
    needs: 'management',
  }),
  restoreSnapshot: put('/operator/snapshot', {
    summary:
      'Replace the whole state by a snapshot while the servers run, in one commit: all or nothing.',
    answeredBy: 'leader',
    audit: 'always',
    cost: 64,
    bodyType: t.TEXT_TYPE,
    bodyBytesMax: SNAPSHOT_BYTES_MAX,
    body: t.String({ description: 'The snapshot, as `GET /v1/operator/snapshot` returned it.' }),
    returns: t.jsonResponse(
      SnapshotRestoreResponse,
      'The servers have the state of the snapshot; later writes are lost.',
    ),
    errors: {
      400: 'The snapshot is damaged or invalid, or these servers cannot use it. Nothing was changed.',
      409: 'Another snapshot is being restored.',
      413: 'It is larger than 128 MiB: restore it into an empty storage.',
    },
    needs: 'management',
  }),
})

export const LostCommits = t.Object(
  {
    FromIndex: t.Index('Index of the first commit that is missing.'),
    ToIndex: t.Index('Index of the last one.'),
    Commits: t.Integer({ description: 'How many are missing.' }),
  },
  { $id: 'LostCommits', description: 'Acknowledged commits that the database does not have.' },
)

export const DatabaseLossResponse = t.Named('DatabaseLossResponse', {
  Accepted: t.Array(LostCommits, {
    description: 'Losses that had not been accepted; empty when there was none.',
  }),
})
export type DatabaseLossResponse = t.Infer<typeof DatabaseLossResponse>

export const databaseRoutes = routes('Operator', {
  acceptDatabaseLoss: put('/operator/database/accept-loss', {
    summary: 'Accept writes again after the database has lost acknowledged commits.',
    audit: 'always',
    returns: t.jsonResponse(
      DatabaseLossResponse,
      'Writes are accepted; the lost commits stay lost.',
    ),
    errors: { 400: 'The servers share no database.' },
    needs: 'operator:write',
  }),
})

/** The two paths that take PUT only. */
export const systemRoutes = routes('Operator', {
  collectGarbage: putOnly('/system/gc', {
    summary: 'Remove everything that has ended, whatever its age.',
    growsState: false,
    returns: t.emptyResponse('The collection has been started.'),
    needs: 'management',
  }),
  reconcileSummaries: putOnly('/system/reconcile/summaries', {
    summary: 'Count the allocations of every job again.',
    growsState: false,
    returns: t.emptyResponse('The summaries are recomputed.'),
    needs: 'management',
  }),
})
