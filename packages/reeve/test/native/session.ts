/** Drives `reeve-task exec`: a command beside a task. */
import { spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { createInterface } from 'node:readline'
import { helper, type Handle, type Spec } from './launcher.ts'

export interface SessionEnd {
  readonly code: number
  readonly signal: number
}

/** What a session said at the start: `ok`, or the kind of refusal. */
export interface SessionStart {
  readonly ok: boolean
  readonly pid?: number
  readonly kind?: string
  readonly message?: string
}

export class Session {
  readonly started: Promise<SessionStart>
  readonly ended: Promise<SessionEnd | undefined>
  readonly status: Promise<number | null>
  readonly stdin: Writable
  readonly control: Writable
  stdout = ''
  stderr = ''
  readonly pid: number
  #heard: () => void = () => undefined

  constructor(spec: Spec, program = helper) {
    const stdio = Array.from({ length: 6 }, () => 'pipe' as const)
    const child = spawn(program, ['exec'], {
      stdio,
      env: program === helper ? {} : { ASAN_OPTIONS: 'detect_leaks=0' },
    })
    // The six of them are pipes, as asked for.
    const pipes = child.stdio as unknown as readonly [
      Writable,
      Readable,
      Readable,
      Writable,
      Writable,
      Readable,
    ]
    const [stdin, stdout, stderr, control, specs, records] = pipes
    this.pid = child.pid ?? 0
    this.stdin = stdin
    this.control = control
    for (const pipe of [stdin, control, specs]) pipe.on('error', () => undefined)
    stdout.on('data', (bytes: Buffer) => this.#add('stdout', bytes))
    stderr.on('data', (bytes: Buffer) => this.#add('stderr', bytes))
    const lines: string[] = []
    const starts = Promise.withResolvers<SessionStart>()
    const ends = Promise.withResolvers<SessionEnd | undefined>()
    createInterface({ input: records }).on('line', (line) => {
      lines.push(line)
      const start: SessionStart = JSON.parse(line)
      if (lines.length === 1) starts.resolve(start)
    })
    this.started = starts.promise
    this.ended = ends.promise
    const status = Promise.withResolvers<number | null>()
    this.status = status.promise
    child.once('close', (code) => {
      const last = lines[1]
      const end: SessionEnd | undefined = last === undefined ? undefined : JSON.parse(last)
      ends.resolve(end)
      starts.resolve({ ok: false, kind: 'died' })
      status.resolve(code)
      this.#heard()
    })
    specs.end(JSON.stringify(spec))
  }

  #add(stream: 'stdout' | 'stderr', bytes: Buffer): void {
    this[stream] += bytes.toString('latin1')
    this.#heard()
  }

  /** Waits until the output holds the text. */
  async sees(text: string | RegExp): Promise<void> {
    const holds = () =>
      typeof text === 'string' ? this.stdout.includes(text) : text.test(this.stdout)
    while (!holds()) {
      const over = await Promise.race([
        new Promise<false>((resolve) => (this.#heard = () => resolve(false))),
        this.status.then(() => true),
      ])
      if (over && !holds()) throw new Error(`ended without ${String(text)}: ${this.stdout}`)
    }
  }

  type(text: string): void {
    this.stdin.write(text)
  }

  tell(line: string): void {
    this.control.write(`${line}\n`)
  }
}

/** A session in the world of a task. */
export function sessionSpec(handle: Handle, more: Spec): Spec {
  return {
    v: 1,
    pid: handle.pid,
    startTime: handle.startTime,
    command: '/bin/sh',
    env: { PATH: '/usr/bin:/bin', TERM: 'xterm', PS1: '> ' },
    ...more,
  }
}
