import type { Result } from '@reeve/kit/result.ts'
import type { Value } from '@reeve/hcl'

/**
 * The type of a setting, with its notation in each source. An error says what the value "must be"
 * and does not include the value, which may be secret.
 */
export interface OptionType<T> {
  /** Name in the documentation. */
  readonly name: string
  /** Form of the flag: `--dev`, `--region R`, or `--join A --join B`. */
  readonly flag: 'switch' | 'once' | 'repeated'
  /** Whether a file may also use a block: `meta { rack = "a" }`. */
  readonly isMap: boolean
  /** Whether each block has a label as its name: `host_volume "data" { … }`. */
  readonly isLabelled?: boolean
  /** Whether the value must never appear in messages, listings or responses. */
  readonly isSecret: boolean
  /** Reads a value of a file; never called with null, which means unset. */
  fromValue(value: Value): Result<T, string>
  /** Reads an environment variable or the argument of a flag. */
  fromString(text: string, place: ParseContext): Result<T, string>
  /** Merges the values of two sources: the higher one wins; maps are merged by key. */
  merge(lower: T, higher: T): T
  /** The value in the notation of a file. */
  toJson(value: T): JsonSettingValue
}

export interface ParseContext {
  /** Base directory of relative paths. */
  readonly workingDirectory: string
}

export type JsonSettingValue =
  | string
  | number
  | boolean
  | readonly string[]
  | Readonly<Record<string, string>>
  | Readonly<Record<string, Readonly<Record<string, string | boolean | readonly string[]>>>>

/** Merge function of all kinds except maps: the higher source wins. */
export function replace<T>(_lower: T, higher: T): T {
  return higher
}
