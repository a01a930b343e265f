import { routes } from '../route.ts'
import { read } from './define.ts'
import { TEXT_TYPE } from './answer.ts'
import { Type } from 'typebox'

/** What a reader must know to read a snapshot. */
export const SNAPSHOT_VERSION = 1

/**
 * One line of a snapshot, in this order: what it is, the blobs, how far it reaches, the rows, and
 * at the end how many blobs there were and the SHA-256 of every line before. The shape is this
 * product's own.
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
