import type { Client, Fetch } from '@reeve/sdk'
import type { Flags } from './flags.ts'
import type { CliHost } from './host.ts'
import type { Output } from './output/output.ts'
import type { ConnectionSettings } from './settings/settings.ts'

/** A command in the table of commands; its code is loaded when it runs. */
export interface CommandSpec {
  /** `job run`, `job periodic force`. */
  readonly path: string
  /** Further paths that run the same command, such as `logs` for `job logs`. */
  readonly aliases?: readonly string[]
  /** One line, also shown in the list of commands. */
  readonly summary: string
  /** Further sentences below the summary. */
  readonly details?: string
  readonly examples: readonly { readonly line: string; readonly says: string }[]
  readonly args?: readonly ArgumentSpec[]
  readonly flags?: readonly FlagSpec[]
  /** The command prints data: it gets `--json` and `--template`. */
  readonly isRead?: boolean
  /** Flags after the first argument belong to that argument: a command that is run elsewhere. */
  readonly passesRest?: boolean
  /** Left out of the help: for scripts. */
  readonly isHidden?: boolean
  readonly load: () => Promise<CommandRun>
}

/** The kinds of values that shell completion looks up. */
export type Completes =
  | 'allocation'
  | 'deployment'
  | 'evaluation'
  | 'file'
  | 'job'
  | 'namespace'
  | 'node'
  | 'node-pool'
  | 'volume'

export interface ArgumentSpec {
  /** `<FILE>`, `[JOB]`, `<COMMAND...>`. */
  readonly usage: string
  readonly help: string
  readonly completes?: Completes
}

export interface FlagSpec {
  /** `--var <KEY=VALUE>`, `-f, --follow`. */
  readonly usage: string
  readonly help: string
  /** The flag may be repeated. */
  readonly isRepeated?: boolean
  readonly completes?: Completes
}

/** Runs the command and returns its exit code. */
export type CommandRun = (invocation: Invocation) => Promise<number>

/** How servers are reached, with the TLS certificates of the settings. */
export interface Ways {
  readonly fetch: Fetch
  readonly openSocket?: (url: string) => WebSocket
}

/** Everything that a command may use. */
export interface Invocation {
  readonly args: readonly string[]
  readonly flags: Flags
  /** Its calls end with `signal`; loops over `blocking`, `events`, `frames` also pass it on. */
  readonly client: Client
  readonly settings: ConnectionSettings
  /** For commands that open a connection of their own. */
  readonly ways: Ways
  readonly output: Output
  readonly host: CliHost
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
}
