import type { ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import { kill } from 'node:process'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { sleep, type ExecSession, type TerminalSize } from '../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'

/** How long output must be idle after the end of the command before it counts as complete. */
const OUTPUT_IDLE_MS = 200

/** How long a command may continue after its caller hung up. */
const HANG_UP_TIMEOUT_MS = 5_000

/** Buffer between the pipe and the frames. */
const RELAY_BUFFER_BYTES = 16 * 1024

interface ChildExecSessionOptions {
  /** Has pipes as its standard files, and is the leader of a process group. */
  readonly child: ChildProcess
  readonly clock: Clock
  resize(size: TerminalSize): void
  /** Notifies the command that its caller is gone; by default SIGHUP to the process group. */
  hangUp?(): void
  /** Exit status, if it is not that of the child itself. */
  status?(): Promise<number | undefined>
}

/** A command that runs as a child of the agent, for both exec implementations. */
export class ChildExecSession implements ExecSession {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  readonly exited: Promise<number>
  readonly #options: ChildExecSessionOptions
  readonly #exited = new AbortController()

  constructor(options: ChildExecSessionOptions) {
    this.#options = options
    const { child } = options
    const input = child.stdin ?? new PassThrough()
    // A command does not have to read its input: a closed pipe is no error.
    input.on('error', () => undefined)
    this.stdin = input
    const output = new OutputRelay(child.stdout)
    const errors = new OutputRelay(child.stderr)
    this.stdout = output.stream
    this.stderr = errors.stream
    this.exited = this.#awaitExit([output, errors])
  }

  resize(size: TerminalSize): void {
    if (!this.#exited.signal.aborted) this.#options.resize(size)
  }

  hangUp(): void {
    if (this.#exited.signal.aborted) return
    if (this.#options.hangUp === undefined) {
      this.stdin.destroy()
      this.#signalGroup('SIGHUP')
    } else this.#options.hangUp()
    void sleep(this.#options.clock, HANG_UP_TIMEOUT_MS, this.#exited.signal).then((passed) => {
      return passed ? this.#signalGroup('SIGKILL') : undefined
    })
  }

  async #awaitExit(relays: readonly OutputRelay[]): Promise<number> {
    const { child, clock } = this.#options
    const exitStatus = await new Promise<number>((resolve) => {
      child.once('exit', (code, signal) => resolve(code ?? 128 + signalNumberOf(signal)))
    })
    this.#exited.abort()
    // Processes left in the group would keep the output open.
    this.#signalGroup('SIGKILL')
    await Promise.all(relays.map((relay) => relay.finish(clock)))
    this.stdin.destroy()
    return (await this.#options.status?.()) ?? exitStatus
  }

  #signalGroup(signal: 'SIGHUP' | 'SIGKILL'): void {
    const { pid } = this.#options.child
    if (pid === undefined) return
    try {
      kill(-pid, signal)
    } catch {
      // ESRCH: the group is empty.
    }
  }
}

function signalNumberOf(signal: NodeJS.Signals | null): number {
  return signal === null ? 0 : constants.signals[signal]
}

/**
 * Relays one output stream to the caller. Ends with its source, or after the command has ended
 * while an escaped process still holds the pipe.
 */
class OutputRelay {
  // Small, because an unread session keeps it for as long as its caller stays.
  readonly stream = new PassThrough({ highWaterMark: RELAY_BUFFER_BYTES })
  readonly #source: Readable | undefined
  #chunkCount = 0
  #hasEnded = false
  readonly #ended = Promise.withResolvers<void>()

  constructor(source: Readable | null) {
    this.#source = source ?? undefined
    if (source === null) {
      this.#close()
      return
    }
    source.on('data', () => (this.#chunkCount += 1))
    source.on('error', () => this.#close())
    source.once('end', () => this.#close())
    source.pipe(this.stream, { end: false })
  }

  async finish(clock: Clock): Promise<void> {
    let lastCount = -1
    while (!this.#hasEnded && (lastCount !== this.#chunkCount || this.stream.writableNeedDrain)) {
      lastCount = this.#chunkCount
      const cancelWait = new AbortController()
      await Promise.race([this.#ended.promise, sleep(clock, OUTPUT_IDLE_MS, cancelWait.signal)])
      cancelWait.abort()
    }
    this.#close()
  }

  #close(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#source?.unpipe(this.stream)
    this.#source?.destroy()
    this.stream.end()
    this.#ended.resolve()
  }
}
