import type { Tables } from '../tables.ts'
import type { GcThresholds } from './ages.ts'
import type { GcBatch } from './slice.ts'

export interface GcOptions {
  readonly nowMs: number
  readonly ages: GcThresholds
}

/** Context of one garbage collection batch. */
export interface GcContext extends GcOptions {
  readonly tables: Tables
  readonly slice: GcBatch
}
