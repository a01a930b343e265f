import type { AgentConfig } from './agent-config.ts'
import type { Kind } from './kind.ts'

/**
 * One setting, declared once: files, environment, flags, documentation and checks come from here.
 * `T` is what sources may say, `D` what stands when none says anything.
 */
export interface Option<T, D = T> {
  readonly kind: Kind<T>
  /** Names of blocks, then of the argument. The name after a labelled block type is its label. */
  readonly file?: readonly [string, ...string[]]
  readonly environment?: string
  readonly flag?: OptionFlag
  readonly byDefault: Default<D>
  /** What it is for, as a sentence in Markdown. */
  readonly help: string
  /** Where it ends up; undefined while it is not set. */
  readonly read: (config: AgentConfig) => T | undefined
}

/** Lets the types of the kind and the default be found from the declaration. */
export function option<T, D extends T | undefined>(declared: Option<T, D>): Option<T, D> {
  return declared
}

interface OptionFlag {
  /** `--http-port`. */
  readonly long: string
  /** What stands for its argument in the help: `N`. */
  readonly argument?: string
}

interface Default<D> {
  /** In the words of the documentation. */
  readonly text: string
  of(ground: Ground): D
}

/** What defaults may depend on. */
interface Ground extends HostFacts {
  readonly dev: boolean
}

/** What the machine and the way the program was started say. */
export interface HostFacts {
  readonly hostName: string
  /** An address of this machine that others can dial, if it has one. */
  readonly address: string | undefined
  readonly workingDirectory: string
  /** A new name in the system's directory for temporary files; nothing is there yet. */
  readonly temporaryDirectory: string
  readonly isErrorTerminal: boolean
}

export function always<D>(value: D, text: string): Default<D> {
  return { text, of: () => value }
}

export function depends<D>(text: string, of: (ground: Ground) => D): Default<D> {
  return { text, of }
}

/** Block types whose next name in `Option.file` is a label: `plugin "raw_exec" { … }`. */
export const LABELLED_BLOCKS: ReadonlySet<string> = new Set(['plugin'])

/** `client.node_class`, `plugin "raw_exec" config.enabled`. */
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
