import { routes } from '../route.ts'
import { read } from './define.ts'
import { TEXT_TYPE } from './answer.ts'
import { Type } from 'typebox'

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

export const snapshotRoutes = routes('Operator', {
  saveSnapshot: read('/operator/snapshot', {
    summary: 'Copy the whole state as of one index, one JSON object on each line.',
    answeredBy: 'leader',
    audit: 'always',
    cost: 16,
    streams: true,
    returns: {
      description: 'The copy. Secrets in it are sealed; it is whole when its last line is there.',
      schema: Type.String(),
      contentType: TEXT_TYPE,
    },
    needs: 'management',
  }),
})
