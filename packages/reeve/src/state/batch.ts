import type { Fault } from '@reeve/kit/fault.ts'
import type { Commit } from './commit.ts'
import type { AppendEntry } from './engine.ts'
import type { Undo } from './table.ts'

/** Commits that become durable with one write. */
export interface Batch {
  readonly entries: AppendEntry[]
  readonly commits: Commit[]
  readonly undo: Undo[]
  readonly done: Promise<void>
  readonly settle: (fault?: Fault) => void
}

export function newBatch(): Batch {
  let settle: (fault?: Fault) => void = () => undefined
  const done = new Promise<void>((resolve, reject) => {
    settle = (fault) => (fault === undefined ? resolve() : reject(fault))
  })
  // Waiting readers handle the rejection. Without readers, an unhandled rejection would end the
  // process.
  done.catch(() => undefined)
  return { entries: [], commits: [], undo: [], done, settle }
}
