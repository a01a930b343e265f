import { err, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../../model/index.ts'

/** Maximum number of writes of one volume that run or wait: each waits minutes for its node. */
const WRITES_MAX = 8

interface Turns {
  count: number
  /** Settles, always successfully, when the latest write has ended. */
  last: Promise<unknown>
}

/** Unfinished writes by volume, by state. */
const unfinished = new WeakMap<object, Map<string, Turns>>()

/**
 * Runs the writes of one volume one after the other, in the order of their requests. A write asks
 * the node and then changes the state, so a change and a deletion at the same time would leave data
 * on the node that no volume describes.
 */
export async function oneWriteAtATime<T>(
  store: object,
  volumeKey: string,
  write: () => Promise<Result<T, Refusal>>,
): Promise<Result<T, Refusal>> {
  const volumes = unfinished.get(store) ?? new Map<string, Turns>()
  unfinished.set(store, volumes)
  const turns = volumes.get(volumeKey) ?? { count: 0, last: Promise.resolve() }
  if (turns.count >= WRITES_MAX) return err(BUSY)
  volumes.set(volumeKey, turns)
  turns.count++
  const done = turns.last.then(write)
  turns.last = done.catch(() => undefined)
  try {
    return await done
  } finally {
    turns.count--
    if (turns.count === 0) volumes.delete(volumeKey)
  }
}

const BUSY: Refusal = refusal(
  'host-volume-changed',
  'the volume is being changed or deleted by other requests: try again',
)
