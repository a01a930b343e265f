import type { CryptoHost } from '@reeve/kit/crypto-host.ts'
import type { Random } from '@reeve/kit/clock.ts'
import type { Result } from '@reeve/kit/result.ts'

/** What functions may know of the world around the job file. */
export interface FunctionOptions {
  /** Undefined where files of the reader must not be seen: on a server. */
  readonly files: FileFunctions | undefined
  readonly random: Random
  /** Keys for `rsadecrypt`; without it the function is refused. */
  readonly crypto?: CryptoHost | undefined
  /** Milliseconds since the epoch; without it there is no `timestamp()`. */
  readonly nowMs?: number
}

/**
 * The file system as job files see it. Paths are as written in the file, relative ones to the
 * directory of the job file; an error is a text for people, without a full stop.
 */
export interface FileFunctions {
  /** The bytes of a regular file; the implementation bounds how many. */
  read(path: string): Result<Uint8Array, string>
  /** False when there is nothing; an error when it is there but no regular file. */
  exists(path: string): Result<boolean, string>
  /**
   * All regular files in a directory and up to `depthMax` directories below it (0: only its own),
   * as paths relative to it, with `/` between names. The implementation bounds how many.
   */
  list(directory: string, depthMax: number): Result<readonly string[], string>
  absolute(path: string): string
  /** The home directory, for `~`; undefined when there is none. */
  home(): string | undefined
}
