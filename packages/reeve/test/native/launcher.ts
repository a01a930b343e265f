/** Drives the real `reeve-task`: a launcher, specs, and the records that the shim leaves. */
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

export const repository = fileURLToPath(new URL('../../../../', import.meta.url))
const CACHE = join(repository, 'node_modules/.cache/reeve')

/** Built by the set-up; a test that needs it is skipped, with this reason, where it is missing. */
export const helper = join(CACHE, 'reeve-task')
export const isRoot = process.getuid?.() === 0

export const noHelper = existsSync(helper)
  ? false
  : 'the task helper is not built: npm run build -- --native says why'
export const noRoot = noHelper === false && !isRoot ? 'isolation needs root' : noHelper

export interface Answer {
  readonly id: number | null
  readonly ok: boolean
  readonly kind?: string
  readonly message?: string
  readonly [key: string]: unknown
}

export interface Handle {
  readonly pid: number
  readonly startTime: number
  readonly taskPid: number
  readonly taskStartTime: number
  readonly shimPid: number
  readonly shimStartTime: number
  readonly [key: string]: unknown
}

export interface Exit {
  readonly id: string
  readonly code: number
  readonly signal: number
  readonly oom: boolean
  readonly oomKills: number
  readonly killed: boolean
  readonly left: number
  readonly logBytes: number
  readonly logDropped: number
  readonly maxRssKb: number
}

export type Spec = Readonly<Record<string, unknown>>

/** A launcher with its own state directory; everything goes when the test has ended. */
export class Launcher {
  readonly dir: string
  readonly process: ChildProcessByStdio<Writable, Readable, null>
  readonly events: Answer[] = []
  /** Everything that was started, and is killed at the end should it still run. */
  readonly #started: Handle[] = []
  #next = 1
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  /** Who waits for an event; told of each, and looks for itself. */
  #told: (() => void)[] = []

  constructor(program = helper, dir = mkdtempSync(join(tmpdir(), 'reeve-native-'))) {
    this.dir = dir
    for (const name of ['tasks', 'exits', 'logs', 'root']) {
      mkdirSync(join(dir, name), { recursive: true })
    }
    this.process = spawn(program, ['serve'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: program === helper ? {} : { ASAN_OPTIONS: 'detect_leaks=0' },
    })
    createInterface({ input: this.process.stdout }).on('line', (line) => this.#hear(line))
    this.process.stdin.on('error', () => undefined)
  }

  #hear(line: string): void {
    const answer: Answer = JSON.parse(line)
    const settle = typeof answer.id === 'number' ? this.#waiting.get(answer.id) : undefined
    if (settle === undefined) {
      this.events.push(answer)
      const waiting = this.#told
      this.#told = []
      for (const look of waiting) look()
      return
    }
    this.#waiting.delete(Number(answer.id))
    settle(answer)
  }

  /** Waits for the end of a shim that this launcher started. */
  async ended(shimPid: number): Promise<void> {
    await this.event((event) => event['event'] === 'ended' && event['shimPid'] === shimPid)
  }

  /** The first event that fits, which may have come before. */
  async event(fits: (event: Answer) => boolean): Promise<Answer> {
    for (;;) {
      const found = this.events.find(fits)
      if (found !== undefined) return found
      await new Promise<void>((resolve) => this.#told.push(resolve))
    }
  }

  async ask(request: Spec): Promise<Answer> {
    const id = this.#next++
    return await new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      this.process.stdin.write(`${JSON.stringify({ v: 1, id, ...request })}\n`)
    })
  }

  /** A raw line, for those that are no requests. */
  say(line: string): void {
    this.process.stdin.write(`${line}\n`)
  }

  exitFile(id: string): string {
    return join(this.dir, 'exits', id)
  }

  handleFile(id: string): string {
    return join(this.dir, 'tasks', `${id}.handle`)
  }

  spec(spec: Spec): Spec {
    const id = idOf(spec)
    return {
      v: 1,
      id,
      exitFile: this.exitFile(id),
      handleFile: this.handleFile(id),
      command: '/bin/sh',
      env: { PATH: '/usr/bin:/bin' },
      ...spec,
    }
  }

  logs(id: string, limits: { maxBytes?: number; maxFiles?: number } = {}): Spec {
    return {
      stdout: join(this.dir, 'logs', `${id}.stdout`),
      stderr: join(this.dir, 'logs', `${id}.stderr`),
      maxBytes: limits.maxBytes ?? 1 << 20,
      maxFiles: limits.maxFiles ?? 10,
    }
  }

  async run(spec: Spec): Promise<Answer> {
    const whole = this.spec(spec)
    const file = join(this.dir, 'tasks', `${idOf(whole)}.spec`)
    writeFileSync(file, JSON.stringify(whole), { mode: 0o600 })
    return await this.ask({ op: 'run', spec: file })
  }

  /** Starts it, which must succeed. */
  async start(spec: Spec): Promise<Handle> {
    const answer = await this.run(spec)
    if (!answer.ok) throw new Error(`${answer.kind}: ${answer.message}`)
    // Checked by `ok`: PROTOCOL.md, section 1, gives these members then.
    const handle = answer as unknown as Handle
    this.#started.push(handle)
    return handle
  }

  /** The exit record, waiting for it as the agent does: by a watch on the directory. */
  async exit(id = 'task'): Promise<Exit> {
    const file = this.exitFile(id)
    const aborter = new AbortController()
    const watcher = watch(join(this.dir, 'exits'), { signal: aborter.signal })
    while (!existsSync(file)) await once(watcher, 'change')
    aborter.abort()
    const exit: Exit = JSON.parse(readFileSync(file, 'utf8'))
    return exit
  }

  /** Starts it, waits for its end, and gives what it wrote. */
  async finish(spec: Spec): Promise<{ exit: Exit; stdout: string; stderr: string }> {
    const id = idOf(spec)
    await this.start({ logs: this.logs(id), ...spec })
    const exit = await this.exit(id)
    return { exit, stdout: this.log(id, 'stdout', 0), stderr: this.log(id, 'stderr', 0) }
  }

  log(id: string, stream: 'stdout' | 'stderr', number: number): string {
    return readFileSync(join(this.dir, 'logs', `${id}.${stream}.${number}`), 'utf8')
  }

  killTree(handle: Handle, more: Spec = {}): Promise<Answer> {
    const { pid, startTime, taskPid, taskStartTime, shimPid, shimStartTime } = handle
    const who = { pid, startTime, taskPid, taskStartTime, shimPid, shimStartTime }
    return this.ask({ op: 'killTree', ...who, ...more })
  }

  async close(): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      await Promise.all(this.#started.map((handle) => this.killTree(handle)))
      const ended = once(this.process, 'exit')
      this.process.stdin.end()
      await ended
    }
    rmSync(this.dir, { recursive: true, force: true })
  }
}

function idOf({ id }: Spec): string {
  return typeof id === 'string' ? id : 'task'
}

export function aLauncher(t: TestContext, program?: string): Launcher {
  const launcher = new Launcher(program)
  t.after(() => launcher.close())
  return launcher
}

/** The smallest root in which a shell runs. */
export function isolation(launcher: Launcher, entries: readonly Spec[] = []): Spec {
  const mirrors = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']
  return {
    root: join(launcher.dir, 'root'),
    hostname: 'task-host',
    entries: [
      ...mirrors.map((path) => ({ kind: 'mirror', path })),
      { kind: 'bind', from: '/usr', to: '/usr', readOnly: true },
      {
        kind: 'bind',
        from: '/etc/ld.so.cache',
        to: '/etc/ld.so.cache',
        readOnly: true,
        optional: true,
      },
      { kind: 'tmpfs', to: '/tmp', mode: 0o1777 },
      { kind: 'proc' },
      { kind: 'dev' },
      ...entries,
    ],
  }
}

/** `sh -c script` in a world of its own. */
export function isolated(launcher: Launcher, script: string, more: Spec = {}): Spec {
  return { isolate: isolation(launcher), user: 'nobody', args: ['-c', script], ...more }
}

/** Whether a process with this number is there and not a zombie. */
export function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
