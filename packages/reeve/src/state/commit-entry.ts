import type { StringChunks } from '@reeve/kit/string-chunks.ts'
import { encodeCommit } from './codec.ts'
import type { Commit } from './commit.ts'
import type { BlobChange, AppendEntry } from './engine.ts'

/**
 * Encodes the commit when the engine writes it: strings created earlier would be promoted to the
 * old generation.
 */
export class CommitEntry implements AppendEntry {
  readonly index: number
  readonly timeMs: number
  readonly blobs: readonly BlobChange[]
  readonly #commit: Commit

  constructor(commit: Commit, blobs: readonly BlobChange[]) {
    this.index = commit.index
    this.timeMs = commit.timeMs
    this.blobs = blobs
    this.#commit = commit
  }

  get text(): StringChunks {
    return encodeCommit(this.#commit)
  }
}
