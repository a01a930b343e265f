import { assert, Fault } from '@reeve/kit/fault.ts'
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

/** Tracks in-flight calls of an engine: closing waits for them and rejects later ones. */
export class InFlightCalls {
  readonly #idle = Promise.withResolvers<void>()
  #closed = false
  #count = 0

  /** Runs a call. Rejects with `storage-closed` once closing began. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new Fault('storage-closed', 'The storage engine is closed.')
    this.#count++
    try {
      return await call()
    } finally {
      this.#count--
      this.#resolveIfIdle()
    }
  }

  /** Rejects later calls and resolves when the running ones have settled. */
  async close(): Promise<void> {
    this.#closed = true
    this.#resolveIfIdle()
    await this.#idle.promise
  }

  #resolveIfIdle(): void {
    if (this.#closed && this.#count === 0) this.#idle.resolve()
  }
}
