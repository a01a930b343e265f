import { PassThrough } from 'node:stream'
import { sleep, type ExecRequest, type ExecSession, type TerminalSize } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import type { MockProcess } from './mock-config.ts'
import { writeOutput } from './say.ts'

const SIGHUP_STATUS = 129
const SIGKILL_STATUS = 137

interface MockExecOptions {
  readonly request: ExecRequest
  /** Undefined: says back what it is told, until the end of its input. */
  readonly process: MockProcess | undefined
  readonly clock: Clock
  /** Fires when the task ends, and the command with it. */
  readonly taskEnded: AbortSignal
}

/** A pretended command inside a pretended task. */
export class MockExecSession implements ExecSession {
  readonly request: ExecRequest
  /** The sizes its terminal had, in order. */
  readonly sizes: TerminalSize[] = []
  readonly stdin = new PassThrough()
  readonly stdout = new PassThrough()
  readonly stderr = new PassThrough()
  readonly exited: Promise<number>
  readonly #exit = Promise.withResolvers<number>()
  readonly #ended = new AbortController()

  constructor({ request, process, clock, taskEnded }: MockExecOptions) {
    this.request = request
    this.exited = this.#exit.promise
    if (request.tty !== undefined) {
      this.sizes.push(request.tty)
      this.stderr.end()
    }
    taskEnded.addEventListener('abort', () => this.#end(SIGKILL_STATUS), { once: true })
    if (process === undefined) this.#echo()
    else void this.#runProcess(process, clock)
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

  async #runProcess(process: MockProcess, clock: Clock): Promise<void> {
    this.stdin.resume()
    const { signal } = this.#ended
    const errorStream = this.request.tty === undefined ? this.stderr : this.stdout
    const write = (output: MockProcess['stdout'], target: PassThrough): Promise<void> =>
      writeOutput(output, { clock, signal, write: (bytes) => target.write(bytes) })
    const written = Promise.all([
      write(process.stdout, this.stdout),
      write(process.stderr, errorStream),
    ])
    if (process.runForMs === undefined) await written
    else await sleep(clock, process.runForMs, signal)
    this.#end(process.exitSignal === 0 ? process.exitCode : 128 + process.exitSignal)
  }

  #end(status: number): void {
    if (this.#ended.signal.aborted) return
    this.#ended.abort()
    this.stdin.unpipe(this.stdout)
    this.stdin.resume()
    this.stdout.end()
    if (!this.stderr.writableEnded) this.stderr.end()
    this.#exit.resolve(status)
  }
}
