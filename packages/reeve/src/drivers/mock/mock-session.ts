import { PassThrough } from 'node:stream'
import { pause, type ExecRequest, type ExecSession, type TerminalSize } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import type { MockProcess } from './mock-config.ts'
import { say } from './say.ts'

const SIGHUP_STATUS = 129
const SIGKILL_STATUS = 137

interface MockSessionOptions {
  readonly request: ExecRequest
  /** Undefined: says back what it is told, until the end of its input. */
  readonly process: MockProcess | undefined
  readonly clock: Clock
  /** Fires when the task ends, and the command with it. */
  readonly taskOver: AbortSignal
}

/** A pretended command inside a pretended task. */
export class MockSession implements ExecSession {
  readonly request: ExecRequest
  /** The sizes its terminal had, in order. */
  readonly sizes: TerminalSize[] = []
  readonly stdin = new PassThrough()
  readonly stdout = new PassThrough()
  readonly stderr = new PassThrough()
  readonly exited: Promise<number>
  readonly #exit = Promise.withResolvers<number>()
  readonly #over = new AbortController()

  constructor({ request, process, clock, taskOver }: MockSessionOptions) {
    this.request = request
    this.exited = this.#exit.promise
    if (request.tty !== undefined) {
      this.sizes.push(request.tty)
      this.stderr.end()
    }
    taskOver.addEventListener('abort', () => this.#end(SIGKILL_STATUS), { once: true })
    if (process === undefined) this.#echo()
    else void this.#play(process, clock)
  }

  resize(size: TerminalSize): void {
    this.sizes.push(size)
  }

  hangUp(): void {
    this.#end(SIGHUP_STATUS)
  }

  #echo(): void {
    this.stdin.pipe(this.stdout, { end: false })
    this.stdin.once('end', () => this.#end(0))
  }

  async #play(process: MockProcess, clock: Clock): Promise<void> {
    this.stdin.resume()
    const { signal } = this.#over
    const errors = this.request.tty === undefined ? this.stderr : this.stdout
    const speak = (output: MockProcess['stdout'], to: PassThrough): Promise<void> =>
      say(output, { clock, signal, write: (bytes) => to.write(bytes) })
    const spoken = Promise.all([speak(process.stdout, this.stdout), speak(process.stderr, errors)])
    if (process.runForMs === undefined) await spoken
    else await pause(clock, process.runForMs, signal)
    this.#end(process.exitSignal === 0 ? process.exitCode : 128 + process.exitSignal)
  }

  #end(status: number): void {
    if (this.#over.signal.aborted) return
    this.#over.abort()
    this.stdin.unpipe(this.stdout)
    this.stdin.resume()
    this.stdout.end()
    if (!this.stderr.writableEnded) this.stderr.end()
    this.#exit.resolve(status)
  }
}
