import { spawn } from 'node:child_process'
import { StringDecoder } from 'node:string_decoder'
import { Fault } from '@reeve/kit/fault.ts'

export interface ToolCall {
  readonly command: string
  readonly args: readonly string[]
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
  /** Gets what the tool prints while it prints it; its standard output is kept where absent. */
  readonly print?: (text: string) => void
}

export interface ToolResult {
  /** Null after a signal. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** What it printed, where nobody else got it. */
  readonly output: string
  readonly errors: string
}

/** How a tool is asked to end: it finishes what it has begun, or it does not. */
export type Interruption = 'interrupt' | 'kill'

const SIGNALS = { interrupt: 'SIGINT', kill: 'SIGKILL' } as const

/** Runs the planning tool, one call at a time, and passes an interruption on to it. */
export class Tool {
  #group: number | undefined
  #interruption: Interruption | undefined

  get interruption(): Interruption | undefined {
    return this.#interruption
  }

  /** Once each: a second signal of the kind would make the tool drop its state. */
  interrupt(how: Interruption): void {
    if (this.#interruption === how || this.#interruption === 'kill') return
    this.#interruption = how
    this.#signal(how)
  }

  #signal(how: Interruption): void {
    if (this.#group === undefined) return
    try {
      // Its own process group: programs that it has started are interrupted with it.
      process.kill(-this.#group, SIGNALS[how])
    } catch (thrown) {
      // It has just ended.
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
    this.#group = child.pid
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
      this.#group = undefined
      resolve({ code, signal, output, errors })
    })
    // It was interrupted between two calls.
    if (this.#interruption !== undefined) this.#signal(this.#interruption)
    return promise
  }
}
