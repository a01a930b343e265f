import type { Tables } from '../tables.ts'
import type { GarbageAges } from './ages.ts'
import type { Slice } from './slice.ts'

export interface GarbageOptions {
  readonly nowMs: number
  readonly ages: GarbageAges
}

/** What the collectors share. */
export interface Round extends GarbageOptions {
  readonly tables: Tables
  readonly slice: Slice
}
