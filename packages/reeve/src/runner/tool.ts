import { spawn } from 'node:child_process'
import { StringDecoder } from 'node:string_decoder'
import { Fault } from '@reeve/kit/fault.ts'

interface ToolCall {
  readonly command: string
  readonly args: readonly string[]
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
  /** Receives the output as it is printed; without it, standard output is collected. */
  readonly print?: (text: string) => void
}

export interface ToolResult {
  /** Null if a signal ended the process. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Collected standard output, if there is no `print`. */
  readonly output: string
  readonly errors: string
}

/** Ways to stop a tool: `interrupt` completes its current operation, `kill` does not. */
type Interruption = 'interrupt' | 'kill'

const SIGNALS = { interrupt: 'SIGINT', kill: 'SIGKILL' } as const

/** Runs the planning tool, one call at a time, and forwards interruptions to it. */
export class Tool {
  #processGroup: number | undefined
  #interruption: Interruption | undefined

  get interruption(): Interruption | undefined {
    return this.#interruption
  }

  /** Sends each signal once: a second interrupt would make the tool abandon its state. */
  interrupt(interruption: Interruption): void {
    if (this.#interruption === interruption || this.#interruption === 'kill') return
    this.#interruption = interruption
    this.#signal(interruption)
  }

  #signal(interruption: Interruption): void {
    if (this.#processGroup === undefined) return
    try {
      // The tool has a process group of its own, so child processes are interrupted too.
      process.kill(-this.#processGroup, SIGNALS[interruption])
    } catch (thrown) {
      // The process has just exited.
      if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ESRCH')) throw thrown
    }
  }

  run({ command, args, directory, environment, print }: ToolCall): Promise<ToolResult> {
    const { promise, resolve, reject } = Promise.withResolvers<ToolResult>()
    const child = spawn(command, args, {
      cwd: directory,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    this.#processGroup = child.pid
    let output = ''
    let errors = ''
    const decoders = [new StringDecoder('utf8'), new StringDecoder('utf8')] as const
    child.stdout.on('data', (chunk: Buffer) => {
      const text = decoders[0].write(chunk)
      if (print === undefined) output += text
      else print(text)
    })
    child.stderr.on('data', (chunk: Buffer) => {
      const text = decoders[1].write(chunk)
      if (print === undefined) errors += text
      else print(text)
    })
    child.once('error', (cause) => {
      reject(new Fault('tool-missing', `${command} cannot be started`, { cause }))
    })
    child.once('close', (code, signal) => {
      this.#processGroup = undefined
      resolve({ code, signal, output, errors })
    })
    // The interruption arrived between two calls.
    if (this.#interruption !== undefined) this.#signal(this.#interruption)
    return promise
  }
}
