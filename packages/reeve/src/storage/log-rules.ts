import { assert } from '@reeve/kit/fault.ts'
import type { CheckpointPosition, AppendEntry } from '../state/index.ts'

/**
 * Asserts the contract between store and engine. A violation is a bug, not a fault of the
 * environment.
 */
export function assertContiguous(entries: readonly AppendEntry[], lastIndex: number): void {
  for (const [offset, entry] of entries.entries()) {
    assert(entry.index === lastIndex + 1 + offset, 'log entries follow one another without a gap')
  }
}

/** A checkpoint refers to existing entries and never moves back, because replay starts after it. */
export function assertCheckpoint(
  checkpoint: CheckpointPosition,
  current: { readonly lastIndex: number; readonly upTo: number },
): void {
  assert(Number.isSafeInteger(checkpoint.upTo), 'a checkpoint mark is an index')
  assert(checkpoint.upTo <= current.lastIndex, 'a checkpoint covers only entries that are durable')
  assert(checkpoint.upTo >= current.upTo, 'a checkpoint mark never moves back')
}

/** Limits a trim: entries after the checkpoint are the only copy of their changes. */
export function clampTrim(beforeIndex: number, upTo: number): number {
  return Math.min(beforeIndex, upTo + 1)
}
