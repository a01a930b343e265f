import type { Result } from '@reeve/kit/result.ts'
import type { Value } from '@reeve/hcl'

/**
 * What a setting may hold, and how each source writes it. A refusal is what the value "must be",
 * without the value itself: it may be a secret, and a file shows its own line.
 */
export interface Kind<T> {
  /** In the words of the documentation. */
  readonly name: string
  /** How often and with what its flag is given: `--dev`, `--region R`, `--join A --join B`. */
  readonly flag: 'switch' | 'once' | 'repeated'
  /** In a file also a block: `meta { rack = "a" }`. */
  readonly isMap: boolean
  /** The blocks have a label each, which is the name: `host_volume "data" { … }`. */
  readonly isLabelled?: boolean
  /** No message, list or answer may show the value. */
  readonly isSecret: boolean
  /** From a file, where null counts as not set and never comes here. */
  fromValue(value: Value): Result<T, string>
  /** From a variable of the environment, or the argument of a flag. */
  fromText(text: string, place: TextPlace): Result<T, string>
  /** Of two sources the higher wins; maps are joined name by name. */
  merge(lower: T, higher: T): T
  /** The value as a file would hold it. */
  toPlain(value: T): PlainValue
}

export interface TextPlace {
  /** What relative paths start from. */
  readonly workingDirectory: string
}

export type PlainValue =
  | string
  | number
  | boolean
  | readonly string[]
  | Readonly<Record<string, string>>
  | Readonly<Record<string, Readonly<Record<string, string | boolean | readonly string[]>>>>

/** The higher source replaces the lower one: all kinds but maps. */
export function takeHigher<T>(_lower: T, higher: T): T {
  return higher
}
