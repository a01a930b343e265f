import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import {
  withDeadline,
  type ExecRequest,
  type ExecSession,
  type TerminalSize,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { ChildSession } from '../session/child-session.ts'
import { parseObject, text, type LauncherAnswer } from './launcher.ts'
import type { HandleRecord } from './records.ts'
import type { TaskSpec } from './task-spec.ts'

/** How long a command may take to begin. */
const BEGIN_MS_MAX = 10_000

interface SessionOptions {
  readonly program: string
  readonly record: HandleRecord
  /** As the task itself was started. */
  readonly spec: TaskSpec
  readonly clock: Clock
}

/** native/PROTOCOL.md, section 5: a command in the world of a task. */
export async function execInTask(
  request: ExecRequest,
  { program, record, spec, clock }: SessionOptions,
): Promise<ExecSession> {
  const child = spawn(program, ['exec'], {
    env: {},
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
  })
  // The list above makes these three: written to, written to, read from.
  const [control, specFile, records] = child.stdio.slice(3) as [Writable, Writable, Readable]
  for (const stream of [control, specFile, records]) stream.on('error', () => undefined)
  const said = new Records(records)
  const tell = (line: string): void => {
    if (control.writable) control.write(`${line}\n`)
  }
  const resize = latestOnly(control, ({ rows, columns }: TerminalSize) => {
    tell(`resize ${rows} ${columns}`)
  })
  const session = new ChildSession({
    child,
    clock,
    resize,
    hangUp: () => tell('hangup'),
    status: () => said.status,
  })
  child.once('error', (error) => said.fail(errorMessage(error)))
  specFile.end(JSON.stringify(sessionSpec(request, record, spec)))
  const deadline = { clock, ms: BEGIN_MS_MAX, what: 'the start of the command' }
  try {
    await withDeadline(said.begun, deadline)
    return session
  } catch (thrown) {
    child.kill('SIGKILL')
    throw thrown
  }
}

/** Writes values to a pipe; while the pipe is full only the latest one waits. */
function latestOnly<Value>(pipe: Writable, write: (value: Value) => void): (value: Value) => void {
  let latest: Value | undefined
  pipe.on('drain', () => {
    const value = latest
    latest = undefined
    if (value !== undefined) write(value)
  })
  return (value) => {
    if (pipe.writableNeedDrain) latest = value
    else write(value)
  }
}

function sessionSpec(
  request: ExecRequest,
  record: HandleRecord,
  spec: TaskSpec,
): Readonly<Record<string, unknown>> {
  const [command = '', ...args] = request.command
  const { env, cwd, user, groups, caps, noNewPrivs, seccomp, umask } = spec
  const terminal = request.tty === undefined ? {} : { tty: request.tty }
  return {
    v: 1,
    pid: record.entry.pid,
    startTime: record.entry.startTime,
    isolated: record.isIsolated,
    command,
    args,
    env: request.tty === undefined ? env : { TERM: 'xterm', ...env },
    cwd,
    user,
    ...defined({ groups, caps, noNewPrivs, seccomp, umask }),
    cgroups: record.cgroups,
    ...terminal,
  }
}

/** Without the keys that have no value: the helper knows its own defaults. */
function defined(values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}

/** What the helper writes about a session: that it began or why not, then how it ended. */
class Records {
  readonly begun: Promise<void>
  /** Undefined when it ended without a word. */
  readonly status: Promise<number | undefined>
  readonly #begin = Promise.withResolvers<void>()
  readonly #end = Promise.withResolvers<number | undefined>()

  constructor(source: Readable) {
    this.begun = this.#begin.promise
    this.status = this.#end.promise
    this.begun.catch(() => undefined)
    const lines = createInterface({ input: source })
    lines.on('line', (line) => this.#hear(parseObject(line) ?? {}))
    lines.once('close', () => this.fail('it said nothing'))
  }

  fail(why: string): void {
    this.#begin.reject(new Fault('task-start', `the command cannot be started: ${why}`))
    this.#end.resolve(undefined)
  }

  #hear(record: LauncherAnswer): void {
    if (record['ok'] === true) this.#begin.resolve()
    else if (record['ok'] === false) this.#begin.reject(execFault(record))
    else if (typeof record['code'] === 'number') this.#end.resolve(record['code'])
  }
}

function execFault(record: LauncherAnswer): Fault {
  const kind = text(record, 'kind')
  const message = text(record, 'message')
  if (kind === 'gone') return new Fault('task-gone', 'the task is not running')
  return new Fault(kind === 'start' ? 'task-start' : 'task-config', message)
}
