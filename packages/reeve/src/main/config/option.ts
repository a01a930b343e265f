import type { AgentConfig } from './agent-config.ts'
import type { OptionType } from './kind.ts'

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
