import { constants } from 'node:os'
import { PassThrough, Writable, type Duplex } from 'node:stream'
import { sleep, type ExecRequest, type ExecSession, type TerminalSize } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { descendantPids, signalProcess } from '../proc/process-tree.ts'
import { isAlive, ProcessTable, readProcess, type ProcessId } from '../proc/processes.ts'
import {
  isSuccess,
  getPath,
  numberAt,
  tryParseJson,
  errorMessageOf,
  stringAt,
  type EngineClient,
  type EngineResponse,
} from './engine-client.ts'
import { FrameReader, type LogFrame } from './log-frames.ts'

const END_OF_FILE = Buffer.from([4])

/** The engine records the exit of a command a moment after its output ended. */
const EXIT_POLLS_MAX = 50
const EXIT_POLL_INTERVAL_MS = 100

/** Retries until the terminal of a command exists. */
const RESIZE_ATTEMPTS_MAX = 100
const RESIZE_RETRY_DELAY_MS = 50

/** How long a command may continue after its caller disconnected, before it is killed. */
const HANG_UP_POLLS_MAX = 20
const HANG_UP_POLL_INTERVAL_MS = 100

/** Exit code if the command ended with its container and no code is known. */
const KILLED_STATUS = 137

interface ContainerExecOptions {
  readonly engine: EngineClient
  readonly containerId: string
  readonly clock: Clock
}

/** Runs a command in a container. Faults like `RunningTask.exec`. */
export async function execInContainer(
  request: ExecRequest,
  options: ContainerExecOptions,
): Promise<ExecSession> {
  const { engine, containerId } = options
  const [program] = request.command
  if (program === undefined || program === '') {
    throw new Fault('task-config', 'the command is empty')
  }
  const Tty = request.tty !== undefined
  const created = await engine.call({
    method: 'POST',
    path: `/containers/${containerId}/exec`,
    body: { AttachStdin: true, AttachStdout: true, AttachStderr: true, Tty, Cmd: request.command },
  })
  if (!isSuccess(created)) throw execFault(created)
  const id = stringAt(tryParseJson(created.body), 'Id')
  const started = await engine.hijack({
    method: 'POST',
    path: `/exec/${id}/start`,
    body: { Detach: false, Tty },
    // Valid as long as the command runs.
    signal: new AbortController().signal,
  })
  if ('status' in started) throw execFault(started)
  const session = new ContainerExecSession({ ...options, id, socket: started, isTty: Tty })
  if (request.tty !== undefined) session.resize(request.tty)
  return session
}

function execFault(response: EngineResponse): Fault {
  const message = errorMessageOf(response)
  const isTaskGone =
    response.status === 404 || response.status === 409 || /is not running/.test(message)
  const isCommandMissing = /executable file|no such file|not found|permission denied/i.test(message)
  if (isTaskGone && !isCommandMissing)
    return new Fault('task-gone', `the task is not running: ${message}`)
  return new Fault('task-config', `the command cannot be started: ${message}`)
}

/** Resolves when a stream can accept more data, or is closed. */
function waitForDrain(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done)
      stream.off('close', done)
      resolve()
    }
    stream.on('drain', done)
    stream.on('close', done)
  })
}

const PROCESS_TABLE = new ProcessTable()

function trySignal(process: ProcessId, signal: number): void {
  try {
    signalProcess(process, signal)
  } catch {
    // The agent is not root and may not signal the process.
  }
}

class ContainerExecSession implements ExecSession {
  readonly stdin: Writable
  readonly stdout = new PassThrough()
  readonly stderr = new PassThrough()
  readonly exited: Promise<number>
  readonly #engine: EngineClient
  readonly #clock: Clock
  readonly #execId: string
  readonly #socket: Duplex
  #requestedSize: TerminalSize | undefined
  #isResizing = false

  constructor(
    options: ContainerExecOptions & {
      readonly id: string
      readonly socket: Duplex
      readonly isTty: boolean
    },
  ) {
    const { socket, isTty } = options
    this.#engine = options.engine
    this.#clock = options.clock
    this.#execId = options.id
    this.#socket = socket
    // The engine closes the connection when the command ends: see `exited`.
    socket.on('error', () => undefined)
    this.stdin = new Writable({
      write: (piece: Buffer, _encoding, done) => {
        if (socket.writable) socket.write(piece, () => done())
        else done()
      },
      final: (done) => {
        if (!socket.writable) done()
        else if (isTty) socket.write(END_OF_FILE, () => done())
        else socket.end(() => done())
      },
    })
    this.stdin.on('error', () => undefined)
    if (isTty) this.stderr.end()
    this.exited = this.#awaitExit(isTty)
  }

  resize(size: TerminalSize): void {
    this.#requestedSize = size
    if (this.#isResizing) return
    this.#isResizing = true
    void this.#applySize()
  }

  /**
   * Sends the latest size, one call at a time. Engines accept the connection before the terminal
   * exists and reject its size until then; a command that has ended has no terminal.
   */
  async #applySize(): Promise<void> {
    const path = `/exec/${this.#execId}/resize`
    for (
      let attempt = 0;
      attempt < RESIZE_ATTEMPTS_MAX && !this.#socket.readableEnded;
      attempt += 1
    ) {
      const size = this.#requestedSize
      if (size === undefined) break
      const query = { h: String(size.rows), w: String(size.columns) }
      const call = this.#engine.call({ method: 'POST', path, query })
      const response = await call.catch(() => undefined)
      // Docker answers 200, podman 201.
      if (response === undefined || !isSuccess(response))
        await sleep(this.#clock, RESIZE_RETRY_DELAY_MS)
      else if (this.#requestedSize === size) this.#requestedSize = undefined
    }
    this.#isResizing = false
  }

  hangUp(): void {
    void this.#killExecProcess()
  }

  /**
   * Kills the command: the Engine API cannot. After SIGHUP and a timeout, the command and its
   * descendants get SIGKILL.
   */
  async #killExecProcess(): Promise<void> {
    const state = await this.#inspect().catch(() => undefined)
    const pid = numberAt(state, 'Pid')
    const isRunning = getPath(state, 'Running') === true && pid > 1
    const execProcess = isRunning ? readProcess(pid) : undefined
    if (execProcess !== undefined) trySignal(execProcess, constants.signals.SIGHUP)
    this.#socket.destroy()
    if (execProcess === undefined) return
    for (let polls = 0; polls < HANG_UP_POLLS_MAX && isAlive(execProcess); polls += 1) {
      await sleep(this.#clock, HANG_UP_POLL_INTERVAL_MS)
    }
    if (!isAlive(execProcess)) return
    const processes = await PROCESS_TABLE.scan()
    const descendants = descendantPids(processes, execProcess, true)
    trySignal(execProcess, constants.signals.SIGKILL)
    for (const candidate of processes)
      if (descendants.has(candidate.pid)) trySignal(candidate, constants.signals.SIGKILL)
  }

  async #awaitExit(isTty: boolean): Promise<number> {
    await this.#relayOutput(isTty)
    this.stdout.end()
    if (!this.stderr.writableEnded) this.stderr.end()
    for (let polls = 0; polls < EXIT_POLLS_MAX; polls += 1) {
      const state = await this.#inspect().catch(() => undefined)
      if (state === undefined) break
      if (getPath(state, 'Running') === false) return numberAt(state, 'ExitCode')
      await sleep(this.#clock, EXIT_POLL_INTERVAL_MS)
    }
    return KILLED_STATUS
  }

  async #relayOutput(isTty: boolean): Promise<void> {
    const reader = new FrameReader()
    const forward = async ({ stream, bytes }: LogFrame): Promise<void> => {
      const target = stream === 'stdout' ? this.stdout : this.stderr
      if (target.write(bytes)) return
      await waitForDrain(target)
    }
    try {
      for await (const piece of this.#socket) {
        // Node's streams of bytes give Buffers.
        const bytes = piece as Buffer
        const frames = isTty ? [{ stream: 'stdout', bytes } as const] : reader.read(bytes)
        for (const frame of frames) await forward(frame)
      }
    } catch {
      // The connection was closed: there is no more output.
    }
    for (const frame of reader.flush()) await forward(frame)
  }

  async #inspect(): Promise<unknown> {
    const response = await this.#engine.call({ method: 'GET', path: `/exec/${this.#execId}/json` })
    return isSuccess(response) ? tryParseJson(response.body) : undefined
  }
}
