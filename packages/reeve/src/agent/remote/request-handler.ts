import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import {
  CHANNEL_MESSAGE_BYTES_MAX,
  NodeRequest,
  NodeStreamRequest,
  type CheckResult,
  type HostData,
  type LastOutput,
  type ReplyMessage,
} from '@reeve/contract'
import { Compile } from 'typebox/compile'
import type { AllocationRunner } from '../allocation/allocation-runner.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { LogBacklog, type LogFeed } from '@reeve/kit/log-feed.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS } from '../../model/index.ts'
import type { Logger } from '../log.ts'
import type { IncomingMigrations } from '../migrate/migrations.ts'
import { packData } from '../migrate/pack-data.ts'
import type { ExecSession, TerminalSize } from '../driver.ts'
import { followFile, newJsonSink, newRawSink, rejectDirectory, sendFile } from './follow-file.ts'
import { execWhenAttached, isNotRunning, serveExec, serveTerminal } from './exec.ts'
import { followLog, RotatedLog } from './follow-log.ts'
import type { NodeMetadata } from '../local-node.ts'
import type { HostUsageReader, NodeUsageReader, UsageReader } from './usage.ts'
import { listFiles, openContained, type OpenedFile, statFile } from './files.ts'
import { toRemoteError, RemoteRefusal } from './remote-refusal.ts'
import {
  findTask,
  readScheduleState,
  restartTasks,
  setScheduleState,
  signalTasks,
} from './task-actions.ts'
import { readSavedOutput, readLatestOutput } from '../task/last-output.ts'
import type { DynamicVolumes } from '../volumes/dynamic-volumes.ts'

/** Dependencies of the request handler. */
interface RemoteRequestDependencies {
  readonly clock: Clock
  readonly log: Logger
  readonly usage: UsageReader
  readonly hostUsage: HostUsageReader
  readonly nodeUsage: NodeUsageReader
  /** Diagnostic data of the machine. */
  hostData(): Promise<HostData>
  /** The log of this agent; undefined where it cannot be followed. */
  readonly logFeed: LogFeed | undefined
  /** False: commands in tasks are rejected, whatever the servers allow. */
  readonly allowsExec: boolean
  readonly migrations: Pick<IncomingMigrations, 'isAwaited' | 'receive'>
  findAllocation(id: string): AllocationRunner | undefined
  /** Directory of an allocation; undefined if it does not exist any more. */
  directoryOf(id: string): string | undefined
  /** Latest check results by check ID. */
  checksOf(id: string): Readonly<Record<string, unknown>>
  /** Checks that fail, or failed when the tasks of the allocation ended. */
  failedChecksOf(id: string): readonly CheckResult[]
  /** Removes the data of a terminal allocation; false if there is none. */
  collect(id: string): Promise<boolean>
  collectAll(): Promise<void>
  /** Stores the new secret of the node; durable when it resolves. */
  saveSecret(secret: string): Promise<void>
  readonly meta: Pick<NodeMetadata, 'describe' | 'apply'>
  readonly volumes: Pick<DynamicVolumes, 'create' | 'register' | 'remove'>
}

const requestChecker = Compile(NodeRequest)
const streamChecker = Compile(NodeStreamRequest)

type RequestOf<Verb extends NodeRequest['verb']> = Extract<NodeRequest, { verb: Verb }>
type StreamOf<Verb extends NodeStreamRequest['verb']> = Extract<NodeStreamRequest, { verb: Verb }>

/** A stream that is ready to start: everything that can be rejected was checked. */
interface PreparedStream {
  /** Serves the stream until it ends. */
  serve(stream: StreamSocket, signal: AbortSignal): Promise<void>
  /** Releases resources; called once, after the stream or if the server cannot be dialled. */
  dispose(): Promise<void>
}

/** Handles requests of callers that arrive through the servers (contract: remote.ts). */
export class RemoteRequestHandler {
  readonly #dependencies: RemoteRequestDependencies
  readonly #stopping = new AbortController()
  #lastProcessStart: Promise<unknown> = Promise.resolve()
  readonly #streams = new Set<Promise<void>>()

  constructor(host: RemoteRequestDependencies) {
    this.#dependencies = host
  }

  /** Handles a request; errors become part of the reply. */
  async handleRequest(id: string, request: unknown): Promise<ReplyMessage> {
    try {
      if (!requestChecker.Check(request))
        throw new RemoteRefusal(501, 'this node does not support the request')
      const result = (await this.#execute(request)) ?? {}
      // A longer message would close the channel of the node, and tasks choose file names.
      if (Buffer.byteLength(JSON.stringify(result)) > REPLY_BYTES_MAX)
        throw new RemoteRefusal(500, 'the answer is too long for a message')
      return { kind: 'reply', id, ok: result }
    } catch (thrown) {
      return { kind: 'reply', id, error: toRemoteError(thrown) }
    }
  }

  /** Serves a stream until it ends. Returns a reply only if no stream was opened. */
  async handleStream(
    id: string,
    request: unknown,
    dial: () => Promise<StreamSocket>,
  ): Promise<ReplyMessage | undefined> {
    if (this.#streams.size >= LIMITS.nodeStreamsMax || this.#stopping.signal.aborted)
      return { kind: 'reply', id, error: { status: 429, message: 'too many streams are open' } }
    const serving = this.#serveStream(request, dial)
    const settled = serving.then(noop, noop)
    this.#streams.add(settled)
    void settled.then(() => this.#streams.delete(settled))
    try {
      await serving
      return undefined
    } catch (thrown) {
      return { kind: 'reply', id, error: toRemoteError(thrown) }
    }
  }

  /** Closes all streams. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#streams)
  }

  async #serveStream(request: unknown, dial: () => Promise<StreamSocket>): Promise<void> {
    if (!streamChecker.Check(request))
      throw new RemoteRefusal(501, 'this node does not support the request')
    const prepared = await this.#prepareStream(request)
    try {
      const stream = await dial()
      const closed = new AbortController()
      const stop = (): void => stream.terminate()
      this.#stopping.signal.addEventListener('abort', stop)
      stream.onClose(() => {
        this.#stopping.signal.removeEventListener('abort', stop)
        closed.abort()
      })
      stream.send(OPENED_FRAME)
      await prepared
        .serve(stream, closed.signal)
        .catch((thrown: unknown) => this.#closeWithError(stream, thrown))
    } finally {
      await prepared.dispose()
    }
  }

  #closeWithError(stream: StreamSocket, thrown: unknown): void {
    this.#dependencies.log.warn({ error: errorMessage(thrown) }, 'a stream for a server failed')
    stream.close(1011, toRemoteError(thrown).message)
  }

  async #execute(request: NodeRequest): Promise<unknown> {
    const { hostUsage, usage } = this.#dependencies
    switch (request.verb) {
      case 'host-usage':
        return await hostUsage.read()
      case 'node-usage':
        return await this.#dependencies.nodeUsage.read()
      case 'host-data':
        return await this.#dependencies.hostData()
      case 'collect-all':
        return await this.#dependencies.collectAll()
      case 'read-meta':
        return this.#dependencies.meta.describe()
      case 'apply-meta':
        return await this.#dependencies.meta.apply(request.meta)
      case 'rotate-secret':
        return await this.#dependencies.saveSecret(request.secret)
      case 'create-volume':
        return await this.#dependencies.volumes.create(request.volume)
      case 'register-volume':
        return await this.#dependencies.volumes.register(request.volume)
      case 'delete-volume':
        return await this.#dependencies.volumes.remove(request.volume)
      case 'collect':
        return await this.#collect(request.allocation)
      case 'list':
        return await listFiles(this.#requireDirectory(request.allocation), request.path)
      case 'stat':
        return await statFile(this.#requireDirectory(request.allocation), request.path)
      case 'signal':
        return await signalTasks(this.#requireAllocation(request.allocation), request)
      case 'restart':
        return await restartTasks(this.#requireAllocation(request.allocation), request)
      case 'read-schedule-state':
        return readScheduleState(this.#requireAllocation(request.allocation), request.task)
      case 'set-schedule-state':
        return await setScheduleState(this.#requireAllocation(request.allocation), request)
      case 'checks':
        return this.#dependencies.checksOf(this.#requireAllocation(request.allocation).id)
      case 'last-output':
        return await this.#lastOutput(request)
      case 'usage': {
        const { tasks } = this.#requireAllocation(request.allocation)
        return await usage.read({ ...request, tasks })
      }
    }
  }

  async #lastOutput({ allocation, task, ended }: RequestOf<'last-output'>): Promise<LastOutput> {
    const root = this.#requireDirectory(allocation)
    if (findTask(this.#requireAllocation(allocation), task) === undefined)
      throw new RemoteRefusal(400, `unknown task name ${JSON.stringify(task)}`)
    const saved = ended ? await readSavedOutput(join(root, task)) : undefined
    if (saved !== undefined) return saved
    const Checks = [...this.#dependencies.failedChecksOf(allocation)]
    return { ...(await readLatestOutput(root, task)), Checks }
  }

  /** Removes the data of a terminal allocation; false if that is not possible. */
  collect(id: string): Promise<boolean> {
    return this.#dependencies.collect(id)
  }

  /** Whether the allocation directory exists. */
  hasFiles(id: string): boolean {
    return this.#dependencies.directoryOf(id) !== undefined
  }

  async #collect(id: string): Promise<void> {
    if (await this.#dependencies.collect(id)) return
    const text = 'No such allocation on client, or allocation not eligible for GC'
    throw new RemoteRefusal(400, text)
  }

  async #prepareStream(request: NodeStreamRequest): Promise<PreparedStream> {
    switch (request.verb) {
      case 'exec':
        return await this.#prepareExec(request)
      case 'logs':
        return this.#prepareLogs(request)
      case 'read':
        return await this.#prepareRead(request)
      case 'follow':
        return await this.#prepareFollow(request)
      case 'data':
        return this.#prepareSendData(request)
      case 'take-data':
        return this.#prepareReceiveData(request)
      case 'monitor':
        return this.#prepareMonitor(request)
    }
  }

  /** Allows one process start per event loop iteration: each blocks the loop for milliseconds. */
  async #waitForStartSlot(): Promise<void> {
    const slot = this.#lastProcessStart.then(() => setImmediate())
    this.#lastProcessStart = slot
    await slot
  }

  async #prepareExec({
    allocation,
    task,
    command,
    tty,
  }: StreamOf<'exec'>): Promise<PreparedStream> {
    const { allowsExec, clock } = this.#dependencies
    if (!allowsExec) throw new RemoteRefusal(403, 'Permission denied')
    const found = this.#requireStartedTask(allocation, task, '')
    const notRunning = new RemoteRefusal(400, `task ${JSON.stringify(task)} is not running.`)
    if (found.state.State !== 'running') throw notRunning
    const start = async (size: TerminalSize | undefined): Promise<ExecSession> => {
      await this.#waitForStartSlot()
      return await execWhenAttached(found, { command, tty: size }, clock).catch(
        (thrown: unknown) => {
          throw isNotRunning(thrown) ? notRunning : thrown
        },
      )
    }
    if (tty) {
      const begin = (stream: StreamSocket): Promise<void> => serveTerminal(stream, { clock, start })
      return { serve: begin, dispose: () => Promise.resolve() }
    }
    const session = await start(undefined)
    return {
      serve: (stream) => serveExec(stream, session, clock),
      // Has no effect on a command that has ended.
      dispose: () => Promise.resolve(session.hangUp()),
    }
  }

  #prepareLogs(request: StreamOf<'logs'>): PreparedStream {
    const { allocation, task, type, framed } = request
    const directory = this.#requireDirectory(allocation)
    const control = this.#requireStartedTask(allocation, task, ' No logs available')
    const log = new RotatedLog(directory, task, type)
    const { clock } = this.#dependencies
    return {
      serve: sendOnly(async (stream, signal) => {
        const sink = framed ? newJsonSink(stream) : newRawSink(stream)
        const isOver = (): boolean => control.state.State === 'dead'
        await followLog(log, { ...request, sink, clock, signal, hasTaskEnded: isOver })
      }),
      dispose: () => Promise.resolve(),
    }
  }

  async #prepareRead({
    allocation,
    path,
    offset,
    limit,
  }: StreamOf<'read'>): Promise<PreparedStream> {
    const file = await this.#openFile(allocation, path)
    return {
      serve: sendOnly(async (stream, signal) => {
        const sink = newRawSink(stream)
        await sendFile(file.handle, { offset, limit, sink, file: path, signal })
      }),
      dispose: () => file.handle.close(),
    }
  }

  async #prepareFollow(request: StreamOf<'follow'>): Promise<PreparedStream> {
    const file = await this.#openFile(request.allocation, request.path)
    const { clock } = this.#dependencies
    return {
      serve: sendOnly((stream, signal) =>
        followFile(file, { ...request, sink: newJsonSink(stream), clock, signal }),
      ),
      dispose: () => file.handle.close(),
    }
  }

  /** Only a terminal allocation can be packed: changing files would be inconsistent. */
  #prepareSendData({ allocation, tasks }: StreamOf<'data'>): PreparedStream {
    const directory = this.#requireDirectory(allocation)
    if (this.#requireAllocation(allocation).endedMs === undefined)
      throw new RemoteRefusal(400, `allocation ${allocation} has not ended`)
    const knownTasks = tasks.filter((task) => findTask(this.#requireAllocation(allocation), task))
    return {
      serve: sendOnly(async (stream, signal) => {
        for await (const piece of packData(directory, knownTasks)) {
          if (signal.aborted) return
          stream.send(piece, false)
          await stream.drained()
        }
      }),
      dispose: () => Promise.resolve(),
    }
  }

  #prepareReceiveData({ allocation }: StreamOf<'take-data'>): PreparedStream {
    const { migrations } = this.#dependencies
    if (!migrations.isAwaited(allocation))
      throw new RemoteRefusal(400, `allocation ${allocation} does not wait for data`)
    return {
      serve: (stream) => migrations.receive(allocation, stream),
      dispose: () => Promise.resolve(),
    }
  }

  #prepareMonitor({ level, json }: StreamOf<'monitor'>): PreparedStream {
    const { logFeed } = this.#dependencies
    if (logFeed === undefined) throw new RemoteRefusal(501, 'this node does not offer its log')
    const backlog = new LogBacklog(logFeed, { level, json })
    return {
      serve: sendOnly(async (stream, signal) => {
        signal.addEventListener('abort', () => backlog.close(), { once: true })
        for (;;) {
          const text = signal.aborted ? undefined : await backlog.take()
          if (text === undefined) return
          stream.send(Buffer.from(text))
          await stream.drained()
        }
      }),
      dispose: () => Promise.resolve(backlog.close()),
    }
  }

  async #openFile(allocation: string, path: string): Promise<OpenedFile> {
    const file = await openContained(this.#requireDirectory(allocation), path)
    try {
      rejectDirectory(file, path)
      return file
    } catch (thrown) {
      await file.handle.close()
      throw thrown
    }
  }

  #requireAllocation(id: string): AllocationRunner {
    const found = this.#dependencies.findAllocation(id)
    if (found !== undefined) return found
    throw new RemoteRefusal(404, `Unknown allocation ${JSON.stringify(id)}`)
  }

  #requireDirectory(id: string): string {
    const found = this.#dependencies.directoryOf(id)
    if (found !== undefined) return found
    throw new RemoteRefusal(404, `state for allocation ${id} not found on client`, {
      code: 'allocation-not-on-node',
    })
  }

  /** Returns a task that exists and was started at least once. */
  #requireStartedTask(allocation: string, task: string, hint: string) {
    const found = findTask(this.#requireAllocation(allocation), task)
    if (found === undefined)
      throw new RemoteRefusal(400, `unknown task name ${JSON.stringify(task)}`)
    const { State, StartedAt } = found.state
    if (State === 'pending' && StartedAt === ZERO_TIME)
      throw new RemoteRefusal(
        hint === '' ? 400 : 404,
        `task ${JSON.stringify(task)} not started yet.${hint}`,
      )
    return found
  }
}

const REPLY_BYTES_MAX = CHANNEL_MESSAGE_BYTES_MAX / 2

/** The contract's StreamOpening. */
const OPENED_FRAME = '{"opened":true}'

const noop = (): void => undefined

/** For streams that only send. Input is read and ignored, to detect that the caller disconnects. */
function sendOnly(send: PreparedStream['serve']): PreparedStream['serve'] {
  return async (stream, signal) => {
    stream.onMessage(noop)
    await send(stream, signal)
    stream.close()
  }
}
