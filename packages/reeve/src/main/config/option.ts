import type { Value } from '@reeve/hcl'
import type { Result } from '@reeve/kit/result.ts'
import type { AgentConfig } from './agent-config.ts'

/**
 * Declares a setting for files, environment, flags, documentation and checks. `T` is the type in
 * sources, `D` the type of the default.
 */
export interface Option<T, D = T> {
  readonly kind: OptionType<T>
  /**
   * Path in a file: block names, then the argument. Labelled block types are followed by their
   * label.
   */
  readonly file?: readonly [string, ...string[]]
  readonly environment?: string
  readonly flag?: OptionFlag
  readonly byDefault: Default<D>
  /** Purpose, as a sentence in Markdown. */
  readonly help: string
  /** Reads the effective value; undefined if it is not set. */
  readonly read: (config: AgentConfig) => T | undefined
}

/** Infers the type parameters from the declaration. */
export function option<T, D extends T | undefined>(declared: Option<T, D>): Option<T, D> {
  return declared
}

interface OptionFlag {
  /** `--http-port`. */
  readonly long: string
  /** Placeholder of the argument in the help, such as `N`. */
  readonly argument?: string
}

interface Default<D> {
  /** Text in the documentation. */
  readonly text: string
  of(ground: DefaultContext): D
}

/** Input for computed defaults. */
interface DefaultContext extends HostInfo {
  readonly dev: boolean
}

/** Properties of the machine and the process. */
export interface HostInfo {
  readonly hostName: string
  /** An address at which others can reach this machine, if any. */
  readonly address: string | undefined
  readonly workingDirectory: string
  /** An unused path in the system's directory for temporary files. */
  readonly temporaryDirectory: string
  readonly isErrorTerminal: boolean
}

export function constant<D>(value: D, text: string): Default<D> {
  return { text, of: () => value }
}

export function computed<D>(text: string, of: (ground: DefaultContext) => D): Default<D> {
  return { text, of }
}

/** Block types that are followed by a label in `Option.file`: `plugin "raw_exec" { … }`. */
export const LABELLED_BLOCKS: ReadonlySet<string> = new Set(['plugin'])

/** Formats the path of an option: `client.node_class`, `plugin "raw_exec" config.enabled`. */
export function describeFilePath(file: readonly string[]): string {
  let text = ''
  for (const [index, name] of file.entries()) {
    const isLabel = index > 0 && LABELLED_BLOCKS.has(file[index - 1] ?? '')
    const isAfterLabel = index > 1 && LABELLED_BLOCKS.has(file[index - 2] ?? '')
    const separator = index === 0 ? '' : isLabel || isAfterLabel ? ' ' : '.'
    text += `${separator}${isLabel ? `"${name}"` : name}`
  }
  return text
}

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
