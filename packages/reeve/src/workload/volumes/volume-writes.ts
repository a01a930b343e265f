import { err, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../../model/index.ts'

/** Maximum number of writes of one volume that run or wait: each may wait minutes for its node. */
const WRITES_MAX = 8

interface PendingWrites {
  count: number
  /** Settles, always successfully, when the latest write has ended. */
  last: Promise<unknown>
}

/**
 * Runs the writes of each volume one after the other, in the order of their requests. A write calls
 * the node and then changes the state, so a change and a deletion at the same time could leave data
 * on the node that no volume describes.
 */
export class VolumeWriteQueue {
  readonly #pending = new Map<string, PendingWrites>()

  async run<T>(
    volumeKey: string,
    write: () => Promise<Result<T, Refusal>>,
  ): Promise<Result<T, Refusal>> {
    const pending = this.#pending.get(volumeKey) ?? { count: 0, last: Promise.resolve() }
    if (pending.count >= WRITES_MAX) return err(VOLUME_BUSY)
    this.#pending.set(volumeKey, pending)
    pending.count += 1
    const done = pending.last.then(write)
    pending.last = done.catch(() => undefined)
    try {
      return await done
    } finally {
      pending.count -= 1
      if (pending.count === 0) this.#pending.delete(volumeKey)
    }
  }
}

const VOLUME_BUSY: Refusal = refusal(
  'host-volume-changed',
  'the volume is being changed or deleted by other requests: try again',
)
