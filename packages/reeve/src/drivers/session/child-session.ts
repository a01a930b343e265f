import type { ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import { kill } from 'node:process'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { pause, type ExecSession, type TerminalSize } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'

/** How long output may be silent, after the command has ended, before it counts as whole. */
const SILENCE_MS = 200

/** How long a command may go on after its caller has hung up. */
const HANG_UP_MS_MAX = 5_000

/** Output of a command on its way from the pipe to the frames. */
const RELAY_BYTES_MAX = 16 * 1024

interface ChildSessionOptions {
  /** Has pipes as its standard files, and is the leader of a process group. */
  readonly child: ChildProcess
  readonly clock: Clock
  resize(size: TerminalSize): void
  /** How the command is told that its caller has gone; absent: SIGHUP to the group. */
  hangUp?(): void
  /** The status to tell, when it is not that of the child itself. */
  status?(): Promise<number | undefined>
}

/** A command that runs as a child of the agent: what both ways of executing have in common. */
export class ChildSession implements ExecSession {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  readonly exited: Promise<number>
  readonly #options: ChildSessionOptions
  readonly #over = new AbortController()

  constructor(options: ChildSessionOptions) {
    this.#options = options
    const { child } = options
    const input = child.stdin ?? new PassThrough()
    // A command need not read what it is told: that its end is gone is no trouble of ours.
    input.on('error', () => undefined)
    this.stdin = input
    const output = new Relay(child.stdout)
    const errors = new Relay(child.stderr)
    this.stdout = output.stream
    this.stderr = errors.stream
    this.exited = this.#watch([output, errors])
  }

  resize(size: TerminalSize): void {
    if (!this.#over.signal.aborted) this.#options.resize(size)
  }

  hangUp(): void {
    if (this.#over.signal.aborted) return
    if (this.#options.hangUp === undefined) {
      this.stdin.destroy()
      this.#signalGroup('SIGHUP')
    } else this.#options.hangUp()
    void pause(this.#options.clock, HANG_UP_MS_MAX, this.#over.signal).then((passed) => {
      return passed ? this.#signalGroup('SIGKILL') : undefined
    })
  }

  async #watch(relays: readonly Relay[]): Promise<number> {
    const { child, clock } = this.#options
    const ended = await new Promise<number>((resolve) => {
      child.once('exit', (code, signal) => resolve(code ?? 128 + numberOf(signal)))
    })
    this.#over.abort()
    // What it left in its group would keep the output open.
    this.#signalGroup('SIGKILL')
    await Promise.all(relays.map((relay) => relay.finish(clock)))
    this.stdin.destroy()
    return (await this.#options.status?.()) ?? ended
  }

  #signalGroup(signal: 'SIGHUP' | 'SIGKILL'): void {
    const { pid } = this.#options.child
    if (pid === undefined) return
    try {
      kill(-pid, signal)
    } catch {
      // ESRCH: nobody is left in the group.
    }
  }
}

function numberOf(signal: NodeJS.Signals | null): number {
  return signal === null ? 0 : constants.signals[signal]
}

/**
 * One stream of output on its way to the caller. Ends with its source, or when the command has
 * ended and a process that escaped still holds the other end.
 */
class Relay {
  // Small: a session that nobody reads holds it for as long as its caller likes.
  readonly stream = new PassThrough({ highWaterMark: RELAY_BYTES_MAX })
  readonly #source: Readable | undefined
  #pieces = 0
  #hasEnded = false
  readonly #end = Promise.withResolvers<void>()

  constructor(source: Readable | null) {
    this.#source = source ?? undefined
    if (source === null) {
      this.#finished()
      return
    }
    source.on('data', () => (this.#pieces += 1))
    source.on('error', () => this.#finished())
    source.once('end', () => this.#finished())
    source.pipe(this.stream, { end: false })
  }

  async finish(clock: Clock): Promise<void> {
    let seen = -1
    while (!this.#hasEnded && (seen !== this.#pieces || this.stream.writableNeedDrain)) {
      seen = this.#pieces
      const silence = new AbortController()
      await Promise.race([this.#end.promise, pause(clock, SILENCE_MS, silence.signal)])
      silence.abort()
    }
    this.#finished()
  }

  #finished(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#source?.unpipe(this.stream)
    this.#source?.destroy()
    this.stream.end()
    this.#end.resolve()
  }
}
