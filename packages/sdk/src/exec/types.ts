import type { TtySize } from '@reeve/contract'

/** A command that runs inside an allocation. */
export interface ExecSession {
  readonly stdout: AsyncIterable<Uint8Array>
  /** Empty with a terminal, which merges it into `stdout`. */
  readonly stderr: AsyncIterable<Uint8Array>
  readonly stdin: ExecInput
  /** Exit code. Rejects if the session ends before the command; both outputs throw then. */
  readonly exit: Promise<number>
  /** Resizes the terminal. */
  resize(size: TtySize): void
  /** Closes the session; the server kills the command. */
  close(): void
}

export interface ExecInput {
  /** Resolves once the data is sent: back-pressure for fast writers. */
  write(data: string | Uint8Array): Promise<void>
  /** Closes the input of the command. */
  close(): Promise<void>
}
