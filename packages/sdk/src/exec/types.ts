import type { TtySize } from '@reeve/contract'

/** A command that runs inside an allocation. */
export interface ExecSession {
  readonly stdout: AsyncIterable<Uint8Array>
  /** Empty with a terminal: everything comes on `stdout` then. */
  readonly stderr: AsyncIterable<Uint8Array>
  readonly stdin: ExecInput
  /** The exit code. Rejects when the session ends before the command; so do both outputs. */
  readonly exit: Promise<number>
  /** Tells the command that its terminal has another size. */
  resize(size: TtySize): void
  /** Leaves; the server then kills the command. */
  close(): void
}

export interface ExecInput {
  /** Resolves when the network has taken it, so that a fast writer waits for a slow command. */
  write(data: string | Uint8Array): Promise<void>
  /** The command reads the end of its input. */
  close(): Promise<void>
}
