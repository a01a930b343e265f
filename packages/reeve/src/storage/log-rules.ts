import { assert } from '@reeve/kit/fault.ts'
import type { CheckpointMark, NewLogEntry } from '../state/index.ts'

/** What every engine may expect of its one caller. A breach is our bug, never the world's. */
export function assertAppendable(entries: readonly NewLogEntry[], lastIndex: number): void {
  for (const [at, entry] of entries.entries()) {
    assert(entry.index === lastIndex + 1 + at, 'log entries follow one another without a gap')
  }
}

/** A mark names entries that exist, and never moves back: replay starts behind it. */
export function assertMarkable(
  mark: CheckpointMark,
  position: { readonly lastIndex: number; readonly upTo: number },
): void {
  assert(Number.isSafeInteger(mark.upTo), 'a checkpoint mark is an index')
  assert(mark.upTo <= position.lastIndex, 'a checkpoint covers only entries that are durable')
  assert(mark.upTo >= position.upTo, 'a checkpoint mark never moves back')
}

/** Where a trim may end: entries behind the mark are the only copy of what they say. */
export function trimEnd(beforeIndex: number, upTo: number): number {
  return Math.min(beforeIndex, upTo + 1)
}
