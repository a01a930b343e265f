import type { StringChunks } from '@reeve/kit/string-chunks.ts'
import { encodeCommit } from './codec.ts'
import type { Commit } from './commit.ts'
import type { BlobChange, NewLogEntry } from './engine.ts'

/** Encoded when it is written: texts that wait for that would outlive the young generation. */
export class CommitEntry implements NewLogEntry {
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
