import { constants } from 'node:os'
import { PassThrough, Writable, type Duplex } from 'node:stream'
import { pause, type ExecRequest, type ExecSession, type TerminalSize } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { relatives, sendSignal } from '../raw-exec/process-tree.ts'
import { isAlive, ProcessTable, readProcess, type ProcessRef } from '../raw-exec/processes.ts'
import {
  isSuccess,
  member,
  numberAt,
  parsed,
  refusalText,
  textAt,
  type Engine,
  type EngineAnswer,
} from './engine.ts'
import { FrameReader, type Frame } from './frames.ts'

const END_OF_FILE = Buffer.from([4])

/** The engine notes the end of a command a moment after its output ended. */
const EXIT_LOOKS_MAX = 50
const EXIT_LOOK_MS = 100

/** How long a terminal may take to be there. */
const RESIZE_TRIES_MAX = 100
const RESIZE_AGAIN_MS = 50

/** How long a command may take to end after its caller left, before it is killed. */
const HANG_UP_LOOKS_MAX = 20
const HANG_UP_LOOK_MS = 100

/** What is told when the container took the command with it and nobody knows more. */
const KILLED_STATUS = 137

interface SessionOptions {
  readonly engine: Engine
  readonly containerId: string
  readonly clock: Clock
}

/** Runs a command in a container. Faults as `RunningTask.exec` says. */
export async function execInContainer(
  request: ExecRequest,
  options: SessionOptions,
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
  const id = textAt(parsed(created.text), 'Id')
  const started = await engine.hijack({
    method: 'POST',
    path: `/exec/${id}/start`,
    body: { Detach: false, Tty },
    // Lives as long as the command.
    signal: new AbortController().signal,
  })
  if ('status' in started) throw execFault(started)
  const session = new ContainerSession({ ...options, id, socket: started, isTty: Tty })
  if (request.tty !== undefined) session.resize(request.tty)
  return session
}

function execFault(answer: EngineAnswer): Fault {
  const text = refusalText(answer)
  const isGone = answer.status === 404 || answer.status === 409 || /is not running/.test(text)
  const isMissing = /executable file|no such file|not found|permission denied/i.test(text)
  if (isGone && !isMissing) return new Fault('task-gone', `the task is not running: ${text}`)
  return new Fault('task-config', `the command cannot be started: ${text}`)
}

/** Resolves when a stream takes more, or takes nothing any more. */
function roomIn(stream: Writable): Promise<void> {
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

const TABLE = new ProcessTable()

function trySignal(process: ProcessRef, signal: number): void {
  try {
    sendSignal(process, signal)
  } catch {
    // Not ours to signal: the agent is not root.
  }
}

class ContainerSession implements ExecSession {
  readonly stdin: Writable
  readonly stdout = new PassThrough()
  readonly stderr = new PassThrough()
  readonly exited: Promise<number>
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #id: string
  readonly #socket: Duplex
  #wantedSize: TerminalSize | undefined
  #isResizing = false

  constructor(
    options: SessionOptions & {
      readonly id: string
      readonly socket: Duplex
      readonly isTty: boolean
    },
  ) {
    const { socket, isTty } = options
    this.#engine = options.engine
    this.#clock = options.clock
    this.#id = options.id
    this.#socket = socket
    // The engine cuts the connection when the command ends: that is told by `exited`.
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
    this.exited = this.#watch(isTty)
  }

  resize(size: TerminalSize): void {
    this.#wantedSize = size
    if (this.#isResizing) return
    this.#isResizing = true
    void this.#applySize()
  }

  /**
   * One call at a time, so that the last size is the one that stays. Engines take the connection
   * before the terminal is there, and refuse its size until then; one that has ended has none.
   */
  async #applySize(): Promise<void> {
    const path = `/exec/${this.#id}/resize`
    for (let tries = 0; tries < RESIZE_TRIES_MAX && !this.#socket.readableEnded; tries += 1) {
      const size = this.#wantedSize
      if (size === undefined) break
      const query = { h: String(size.rows), w: String(size.columns) }
      const call = this.#engine.call({ method: 'POST', path, query })
      const answer = await call.catch(() => undefined)
      // Docker answers 200, podman 201.
      if (answer === undefined || !isSuccess(answer)) await pause(this.#clock, RESIZE_AGAIN_MS)
      else if (this.#wantedSize === size) this.#wantedSize = undefined
    }
    this.#isResizing = false
  }

  hangUp(): void {
    void this.#endProcess()
  }

  /**
   * The Engine API cannot end a command; the kernel can. One that does not obey is killed, with all
   * that it started.
   */
  async #endProcess(): Promise<void> {
    const state = await this.#inspect().catch(() => undefined)
    const pid = numberAt(state, 'Pid')
    const isRunning = member(state, 'Running') === true && pid > 1
    const found = isRunning ? readProcess(pid) : undefined
    if (found !== undefined) trySignal(found, constants.signals.SIGHUP)
    this.#socket.destroy()
    if (found === undefined) return
    for (let looks = 0; looks < HANG_UP_LOOKS_MAX && isAlive(found); looks += 1) {
      await pause(this.#clock, HANG_UP_LOOK_MS)
    }
    if (!isAlive(found)) return
    const all = await TABLE.scan()
    const started = relatives(all, found, true)
    trySignal(found, constants.signals.SIGKILL)
    for (const one of all) if (started.has(one.pid)) trySignal(one, constants.signals.SIGKILL)
  }

  async #watch(isTty: boolean): Promise<number> {
    await this.#relay(isTty)
    this.stdout.end()
    if (!this.stderr.writableEnded) this.stderr.end()
    for (let looks = 0; looks < EXIT_LOOKS_MAX; looks += 1) {
      const state = await this.#inspect().catch(() => undefined)
      if (state === undefined) break
      if (member(state, 'Running') === false) return numberAt(state, 'ExitCode')
      await pause(this.#clock, EXIT_LOOK_MS)
    }
    return KILLED_STATUS
  }

  async #relay(isTty: boolean): Promise<void> {
    const reader = new FrameReader()
    const give = async ({ stream, bytes }: Frame): Promise<void> => {
      const to = stream === 'stdout' ? this.stdout : this.stderr
      if (to.write(bytes)) return
      await roomIn(to)
    }
    try {
      for await (const piece of this.#socket) {
        // Node's streams of bytes give Buffers.
        const bytes = piece as Buffer
        const frames = isTty ? [{ stream: 'stdout', bytes } as const] : reader.read(bytes)
        for (const frame of frames) await give(frame)
      }
    } catch {
      // The connection was cut: what came is all there is.
    }
    for (const frame of reader.end()) await give(frame)
  }

  async #inspect(): Promise<unknown> {
    const answer = await this.#engine.call({ method: 'GET', path: `/exec/${this.#id}/json` })
    return isSuccess(answer) ? parsed(answer.text) : undefined
  }
}
