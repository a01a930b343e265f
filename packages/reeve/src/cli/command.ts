import type { Client, Fetch } from '@reeve/sdk'
import type { Flags } from './flags.ts'
import type { CliHost } from './host.ts'
import type { Output } from './output/output.ts'
import type { ConnectionSettings } from './settings/settings.ts'

/** A command as the list of commands knows it; what it does is loaded when it runs. */
export interface CommandSpec {
  /** `job run`, `job periodic force`. */
  readonly path: string
  /** One line, also in the list of commands. */
  readonly summary: string
  /** More sentences about it. */
  readonly details?: string
  readonly examples: readonly { readonly line: string; readonly says: string }[]
  readonly args?: readonly ArgumentSpec[]
  readonly flags?: readonly FlagSpec[]
  /** It prints data: gets `--json` and `--template`. */
  readonly isRead?: boolean
  /** Flags after the first argument belong to the argument: a command to be run elsewhere. */
  readonly passesRest?: boolean
  /** Not in the help: for scripts. */
  readonly isHidden?: boolean
  readonly load: () => Promise<CommandRun>
}

/** What shells can be told to offer. */
export type Completes =
  | 'allocation'
  | 'deployment'
  | 'evaluation'
  | 'file'
  | 'job'
  | 'namespace'
  | 'node'
  | 'node-pool'

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
  /** May be given several times. */
  readonly isRepeated?: boolean
  readonly completes?: Completes
}

/** Does what the command is for and gives the exit code. */
export type CommandRun = (invocation: Invocation) => Promise<number>

/** How servers are reached: with certificates where some were named. */
export interface Ways {
  readonly fetch: Fetch
  readonly openSocket?: (url: string) => WebSocket
}

/** What a command gets to work with. */
export interface Invocation {
  readonly args: readonly string[]
  readonly flags: Flags
  /** Its calls end with `signal`; loops over `blocking`, `events`, `frames` also pass it on. */
  readonly client: Client
  readonly settings: ConnectionSettings
  /** How servers are reached, for a client of one's own. */
  readonly ways: Ways
  readonly output: Output
  readonly host: CliHost
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
}
