import type { CryptoHost } from '@reeve/kit/crypto-host.ts'
import type { Random } from '@reeve/kit/clock.ts'
import type { Result } from '@reeve/kit/result.ts'

/** The environment that functions may access. */
export interface FunctionOptions {
  /** Undefined on a server, where job files must not read files. */
  readonly files: FileFunctions | undefined
  readonly random: Random
  /** Required by `rsadecrypt`, which otherwise fails. */
  readonly crypto?: CryptoHost | undefined
  /** Milliseconds since the epoch; required by `timestamp()`. */
  readonly nowMs?: number
}

/**
 * The file system for job files. Relative paths are resolved against the directory of the job file.
 * Errors are messages without a full stop.
 */
export interface FileFunctions {
  /** The bytes of a regular file; the implementation limits the size. */
  read(path: string): Result<Uint8Array, string>
  /** False if the file does not exist; an error if it is not a regular file. */
  exists(path: string): Result<boolean, string>
  /**
   * All regular files in a directory and up to `depthMax` levels below it (0: only its own), as
   * relative paths with `/` separators. The implementation limits the number.
   */
  list(directory: string, depthMax: number): Result<readonly string[], string>
  absolute(path: string): string
  /** The home directory for `~`; undefined if there is none. */
  home(): string | undefined
}
