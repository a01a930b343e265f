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
  readonly passThroughArgs?: boolean
  /** Left out of the help: for scripts. */
  readonly isHidden?: boolean
  readonly load: () => Promise<CommandHandler>
}

/** The kinds of values that shell completion looks up. */
export type CompletionKind =
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
  readonly completionKind?: CompletionKind
}

export interface FlagSpec {
  /** `--var <KEY=VALUE>`, `-f, --follow`. */
  readonly usage: string
  readonly help: string
  /** The flag may be repeated. */
  readonly isRepeated?: boolean
  readonly completionKind?: CompletionKind
}

/** Runs the command and returns its exit code. */
type CommandHandler = (invocation: CommandContext) => Promise<number>

/** HTTP and WebSocket transport with the configured TLS certificates. */
export interface Transport {
  readonly fetch: Fetch
  readonly openWebSocket?: (url: string) => WebSocket
}

/** Arguments, flags, client and output of one command run. */
export interface CommandContext {
  readonly args: readonly string[]
  readonly flags: Flags
  /**
   * Requests are aborted with `signal`. Loops over `blocking`, `events` and `frames` pass it
   * explicitly.
   */
  readonly client: Client
  readonly settings: ConnectionSettings
  /** For commands that open a connection of their own. */
  readonly transport: Transport
  readonly output: Output
  readonly host: CliHost
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
}
