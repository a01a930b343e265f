import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import {
  withTimeout,
  type ExecRequest,
  type ExecSession,
  type TerminalSize,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { ChildExecSession } from '../child-exec-session.ts'
import { parseJsonObject, stringField, type LauncherResponse } from './launcher.ts'
import type { HandleRecord } from './supervisor-records.ts'
import type { TaskSpec } from './task-spec.ts'

/** Timeout for the start of a command. */
const START_TIMEOUT_MS = 10_000

interface NativeExecOptions {
  readonly program: string
  readonly record: HandleRecord
  /** The spec with which the task was started. */
  readonly spec: TaskSpec
  readonly clock: Clock
}

/** A command in the namespaces of a task (native/PROTOCOL.md, section 5). */
export async function execInTask(
  request: ExecRequest,
  { program, record, spec, clock }: NativeExecOptions,
): Promise<ExecSession> {
  const child = spawn(program, ['exec'], {
    env: {},
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
  })
  // Proof: `stdio` above creates two writable streams and a readable one.
  const [control, specFile, records] = child.stdio.slice(3) as [Writable, Writable, Readable]
  for (const stream of [control, specFile, records]) stream.on('error', () => undefined)
  const execReport = new ExecReport(records)
  const sendControlLine = (line: string): void => {
    if (control.writable) control.write(`${line}\n`)
  }
  const resize = writeLatestOnly(control, ({ rows, columns }: TerminalSize) => {
    sendControlLine(`resize ${rows} ${columns}`)
  })
  const session = new ChildExecSession({
    child,
    clock,
    resize,
    hangUp: () => sendControlLine('hangup'),
    status: () => execReport.status,
  })
  child.once('error', (error) => execReport.fail(errorMessage(error)))
  specFile.end(JSON.stringify(buildExecSpec(request, record, spec)))
  const deadline = { clock, timeoutMs: START_TIMEOUT_MS, operation: 'the start of the command' }
  try {
    await withTimeout(execReport.started, deadline)
    return session
  } catch (thrown) {
    child.kill('SIGKILL')
    throw thrown
  }
}

/** Writes values to a pipe; while the pipe is full only the latest one waits. */
function writeLatestOnly<Value>(
  pipe: Writable,
  write: (value: Value) => void,
): (value: Value) => void {
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

function buildExecSpec(
  request: ExecRequest,
  record: HandleRecord,
  spec: TaskSpec,
): Readonly<Record<string, unknown>> {
  const [command = '', ...args] = request.command
  const { env, cwd, user, groups, caps, noNewPrivs, seccomp, umask } = spec
  const ttyField = request.tty === undefined ? {} : { tty: request.tty }
  return {
    v: 1,
    pid: record.rootProcess.pid,
    startTime: record.rootProcess.startTime,
    isolated: record.isIsolated,
    command,
    args,
    env: request.tty === undefined ? env : { TERM: 'xterm', ...env },
    cwd,
    user,
    ...withoutUndefined({ groups, caps, noNewPrivs, seccomp, umask }),
    cgroups: record.cgroups,
    ...ttyField,
  }
}

/** Omits keys without values, for which the helper has defaults. */
function withoutUndefined(
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}

/** Messages of the helper about a session: whether it started, and its exit. */
class ExecReport {
  readonly started: Promise<void>
  /** Undefined if it ended without a message. */
  readonly status: Promise<number | undefined>
  readonly #started = Promise.withResolvers<void>()
  readonly #exitStatus = Promise.withResolvers<number | undefined>()

  constructor(source: Readable) {
    this.started = this.#started.promise
    this.status = this.#exitStatus.promise
    this.started.catch(() => undefined)
    const lines = createInterface({ input: source })
    lines.on('line', (line) => this.#onRecord(parseJsonObject(line) ?? {}))
    lines.once('close', () => this.fail('it said nothing'))
  }

  fail(reason: string): void {
    this.#started.reject(new Fault('task-start', `the command cannot be started: ${reason}`))
    this.#exitStatus.resolve(undefined)
  }

  #onRecord(record: LauncherResponse): void {
    if (record['ok'] === true) this.#started.resolve()
    else if (record['ok'] === false) this.#started.reject(execFault(record))
    else if (typeof record['code'] === 'number') this.#exitStatus.resolve(record['code'])
  }
}

function execFault(record: LauncherResponse): Fault {
  const kind = stringField(record, 'kind')
  const message = stringField(record, 'message')
  if (kind === 'gone') return new Fault('task-gone', 'the task is not running')
  return new Fault(kind === 'start' ? 'task-start' : 'task-config', message)
}
