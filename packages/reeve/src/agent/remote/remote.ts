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
import type { Log } from '../log.ts'
import type { Migrations } from '../migrate/migrations.ts'
import { packData } from '../migrate/snapshot.ts'
import type { ExecSession, TerminalSize } from '../task-session.ts'
import { framedSink, plainSink } from './byte-sink.ts'
import { serveExec } from './exec-session.ts'
import { serveTerminal } from './exec-terminal.ts'
import { execWhenAttached, isNotRunning } from './exec-when-attached.ts'
import { copyFile, followFile, requireFile } from './follow-file.ts'
import { followLog } from './follow-log.ts'
import type { NodeMetadata } from '../node-meta.ts'
import type { HostUsageReader } from './host-usage.ts'
import { listFiles, statFile } from './list-files.ts'
import { LogFiles } from './log-files.ts'
import { remoteError, RemoteRefusal } from './remote-refusal.ts'
import { openBelow, type OpenedFile } from './safe-open.ts'
import {
  findTask,
  readScheduleState,
  restartTasks,
  setScheduleState,
  signalTasks,
} from './task-actions.ts'
import { readKept, readOutput } from '../task/last-output.ts'
import type { UsageReader } from './usage.ts'
import type { DynamicVolumes } from '../volumes/dynamic-volumes.ts'

/** What the servers may ask about is looked up here. */
export interface RemoteHost {
  readonly clock: Clock
  readonly log: Log
  readonly usage: UsageReader
  readonly hostUsage: HostUsageReader
  /** The machine, for diagnosis. */
  hostData(): Promise<HostData>
  /** The log of this agent; undefined where it cannot be followed. */
  readonly feed: LogFeed | undefined
  /** False: no command is run for callers, whatever the servers say. */
  readonly allowsExec: boolean
  readonly migrations: Pick<Migrations, 'isWanted' | 'take'>
  findAllocation(id: string): AllocationRunner | undefined
  /** The directory of an allocation; undefined when it has none here any more. */
  directoryOf(id: string): string | undefined
  /** The latest results of its checks, by check. */
  checksOf(id: string): Readonly<Record<string, unknown>>
  /** The checks that fail, or failed when the tasks of the allocation ended. */
  failedChecksOf(id: string): readonly CheckResult[]
  /** Removes what an allocation that has ended left; false when there is none such. */
  collect(id: string): Promise<boolean>
  collectAll(): Promise<void>
  /** Stores the new secret of the node; durable when it resolves. */
  keepSecret(secret: string): Promise<void>
  readonly meta: Pick<NodeMetadata, 'read' | 'apply'>
  readonly volumes: Pick<DynamicVolumes, 'create' | 'register' | 'remove'>
}

const requestChecker = Compile(NodeRequest)
const streamChecker = Compile(NodeStreamRequest)

type RequestOf<Verb extends NodeRequest['verb']> = Extract<NodeRequest, { verb: Verb }>
type StreamOf<Verb extends NodeStreamRequest['verb']> = Extract<NodeStreamRequest, { verb: Verb }>

/** A stream that can begin: everything that may be refused has been looked at. */
interface Prepared {
  /** Serves it to its end. */
  begin(stream: StreamSocket, signal: AbortSignal): Promise<void>
  /** Lets go of what it holds; called once, at its end or when the server cannot be dialled. */
  release(): Promise<void>
}

/** Does on this node what callers ask for through the servers (contract: remote.ts). */
export class Remote {
  readonly #host: RemoteHost
  readonly #stopping = new AbortController()
  #lastStart: Promise<unknown> = Promise.resolve()
  readonly #streams = new Set<Promise<void>>()

  constructor(host: RemoteHost) {
    this.#host = host
  }

  /** The answer to a request, whatever came. */
  async reply(id: string, request: unknown): Promise<ReplyMessage> {
    try {
      if (!requestChecker.Check(request))
        throw new RemoteRefusal(501, 'this node does not know what it is asked')
      const answer = (await this.#answer(request)) ?? {}
      // A longer message would end the node's channel, and names of files are the tasks' to choose.
      if (Buffer.byteLength(JSON.stringify(answer)) > REPLY_BYTES_MAX)
        throw new RemoteRefusal(500, 'the answer is too long for a message')
      return { kind: 'reply', id, ok: answer }
    } catch (thrown) {
      return { kind: 'reply', id, error: remoteError(thrown) }
    }
  }

  /** Serves one stream from its dial to its end. Gives a reply only when there is none. */
  async stream(
    id: string,
    request: unknown,
    dial: () => Promise<StreamSocket>,
  ): Promise<ReplyMessage | undefined> {
    if (this.#streams.size >= LIMITS.nodeStreamsMax || this.#stopping.signal.aborted)
      return { kind: 'reply', id, error: { status: 429, message: 'too many streams are open' } }
    const served = this.#serve(request, dial)
    const settled = served.then(ignore, ignore)
    this.#streams.add(settled)
    void settled.then(() => this.#streams.delete(settled))
    try {
      await served
      return undefined
    } catch (thrown) {
      return { kind: 'reply', id, error: remoteError(thrown) }
    }
  }

  /** Ends all streams. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#streams)
  }

  async #serve(request: unknown, dial: () => Promise<StreamSocket>): Promise<void> {
    if (!streamChecker.Check(request))
      throw new RemoteRefusal(501, 'this node does not know what it is asked')
    const prepared = await this.#prepare(request)
    try {
      const stream = await dial()
      const over = new AbortController()
      const stop = (): void => stream.terminate()
      this.#stopping.signal.addEventListener('abort', stop)
      stream.onClose(() => {
        this.#stopping.signal.removeEventListener('abort', stop)
        over.abort()
      })
      stream.send(OPENED)
      await prepared
        .begin(stream, over.signal)
        .catch((thrown: unknown) => this.#fail(stream, thrown))
    } finally {
      await prepared.release()
    }
  }

  #fail(stream: StreamSocket, thrown: unknown): void {
    this.#host.log.warn({ error: errorMessage(thrown) }, 'a stream for a server failed')
    stream.close(1011, remoteError(thrown).message)
  }

  async #answer(request: NodeRequest): Promise<unknown> {
    const { hostUsage, usage } = this.#host
    switch (request.verb) {
      case 'host-usage':
        return await hostUsage.read()
      case 'host-data':
        return await this.#host.hostData()
      case 'collect-all':
        return await this.#host.collectAll()
      case 'read-meta':
        return this.#host.meta.read()
      case 'apply-meta':
        return await this.#host.meta.apply(request.meta)
      case 'rotate-secret':
        return await this.#host.keepSecret(request.secret)
      case 'create-volume':
        return await this.#host.volumes.create(request.volume)
      case 'register-volume':
        return await this.#host.volumes.register(request.volume)
      case 'delete-volume':
        return await this.#host.volumes.remove(request.volume)
      case 'collect':
        return await this.#collect(request.allocation)
      case 'list':
        return await listFiles(this.#directory(request.allocation), request.path)
      case 'stat':
        return await statFile(this.#directory(request.allocation), request.path)
      case 'signal':
        return await signalTasks(this.#allocation(request.allocation), request)
      case 'restart':
        return await restartTasks(this.#allocation(request.allocation), request)
      case 'read-schedule-state':
        return readScheduleState(this.#allocation(request.allocation), request.task)
      case 'set-schedule-state':
        return await setScheduleState(this.#allocation(request.allocation), request)
      case 'checks':
        return this.#host.checksOf(this.#allocation(request.allocation).id)
      case 'last-output':
        return await this.#lastOutput(request)
      case 'usage': {
        const { tasks } = this.#allocation(request.allocation)
        return await usage.read({ ...request, tasks })
      }
    }
  }

  async #lastOutput({ allocation, task, ended }: RequestOf<'last-output'>): Promise<LastOutput> {
    const root = this.#directory(allocation)
    if (findTask(this.#allocation(allocation), task) === undefined)
      throw new RemoteRefusal(400, `unknown task name ${JSON.stringify(task)}`)
    const kept = ended ? await readKept(join(root, task)) : undefined
    if (kept !== undefined) return kept
    const Checks = [...this.#host.failedChecksOf(allocation)]
    return { ...(await readOutput(root, task)), Checks }
  }

  /** Removes what an ended allocation left; false when it may not be removed. */
  collect(id: string): Promise<boolean> {
    return this.#host.collect(id)
  }

  /** Whether the directory of the allocation is here. */
  hasFiles(id: string): boolean {
    return this.#host.directoryOf(id) !== undefined
  }

  async #collect(id: string): Promise<void> {
    if (await this.#host.collect(id)) return
    const text = 'No such allocation on client, or allocation not eligible for GC'
    throw new RemoteRefusal(400, text)
  }

  async #prepare(request: NodeStreamRequest): Promise<Prepared> {
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
        return this.#prepareData(request)
      case 'take-data':
        return this.#prepareTaking(request)
      case 'monitor':
        return this.#prepareMonitor(request)
    }
  }

  /** Starting a process blocks the event loop for milliseconds: there is one start per turn. */
  async #startTurn(): Promise<void> {
    const turn = this.#lastStart.then(() => setImmediate())
    this.#lastStart = turn
    await turn
  }

  async #prepareExec({ allocation, task, command, tty }: StreamOf<'exec'>): Promise<Prepared> {
    const { allowsExec, clock } = this.#host
    if (!allowsExec) throw new RemoteRefusal(403, 'Permission denied')
    const found = this.#started(allocation, task, '')
    const notRunning = new RemoteRefusal(400, `task ${JSON.stringify(task)} is not running.`)
    if (found.state.State !== 'running') throw notRunning
    const start = async (size: TerminalSize | undefined): Promise<ExecSession> => {
      await this.#startTurn()
      return await execWhenAttached(found, { command, tty: size }, clock).catch(
        (thrown: unknown) => {
          throw isNotRunning(thrown) ? notRunning : thrown
        },
      )
    }
    if (tty) {
      const begin = (stream: StreamSocket): Promise<void> => serveTerminal(stream, { clock, start })
      return { begin, release: () => Promise.resolve() }
    }
    const session = await start(undefined)
    return {
      begin: (stream) => serveExec(stream, session, clock),
      // Nothing to a command that has ended.
      release: () => Promise.resolve(session.hangUp()),
    }
  }

  #prepareLogs(request: StreamOf<'logs'>): Prepared {
    const { allocation, task, type, framed } = request
    const directory = this.#directory(allocation)
    const control = this.#started(allocation, task, ' No logs available')
    const log = new LogFiles(directory, task, type)
    const { clock } = this.#host
    return {
      begin: sending(async (stream, signal) => {
        const sink = framed ? framedSink(stream) : plainSink(stream)
        const isOver = (): boolean => control.state.State === 'dead'
        await followLog(log, { ...request, sink, clock, signal, isOver })
      }),
      release: () => Promise.resolve(),
    }
  }

  async #prepareRead({ allocation, path, offset, limit }: StreamOf<'read'>): Promise<Prepared> {
    const file = await this.#openFile(allocation, path)
    return {
      begin: sending(async (stream, signal) => {
        const sink = plainSink(stream)
        await copyFile(file.handle, { offset, limit, sink, file: path, signal })
      }),
      release: () => file.handle.close(),
    }
  }

  async #prepareFollow(request: StreamOf<'follow'>): Promise<Prepared> {
    const file = await this.#openFile(request.allocation, request.path)
    const { clock } = this.#host
    return {
      begin: sending((stream, signal) =>
        followFile(file, { ...request, sink: framedSink(stream), clock, signal }),
      ),
      release: () => file.handle.close(),
    }
  }

  /** Only of an allocation that has ended: what still changes would arrive as neither. */
  #prepareData({ allocation, tasks }: StreamOf<'data'>): Prepared {
    const directory = this.#directory(allocation)
    if (this.#allocation(allocation).endedMs === undefined)
      throw new RemoteRefusal(400, `allocation ${allocation} has not ended`)
    const known = tasks.filter((task) => findTask(this.#allocation(allocation), task))
    return {
      begin: sending(async (stream, signal) => {
        for await (const piece of packData(directory, known)) {
          if (signal.aborted) return
          stream.send(piece, false)
          await stream.drained()
        }
      }),
      release: () => Promise.resolve(),
    }
  }

  #prepareTaking({ allocation }: StreamOf<'take-data'>): Prepared {
    const { migrations } = this.#host
    if (!migrations.isWanted(allocation))
      throw new RemoteRefusal(400, `allocation ${allocation} does not wait for data`)
    return {
      begin: (stream) => migrations.take(allocation, stream),
      release: () => Promise.resolve(),
    }
  }

  #prepareMonitor({ level, json }: StreamOf<'monitor'>): Prepared {
    const { feed } = this.#host
    if (feed === undefined) throw new RemoteRefusal(501, 'this node does not offer its log')
    const backlog = new LogBacklog(feed, { level, json })
    return {
      begin: sending(async (stream, signal) => {
        signal.addEventListener('abort', () => backlog.close(), { once: true })
        for (;;) {
          const text = signal.aborted ? undefined : await backlog.take()
          if (text === undefined) return
          stream.send(Buffer.from(text))
          await stream.drained()
        }
      }),
      release: () => Promise.resolve(backlog.close()),
    }
  }

  async #openFile(allocation: string, path: string): Promise<OpenedFile> {
    const file = await openBelow(this.#directory(allocation), path)
    try {
      requireFile(file, path)
      return file
    } catch (thrown) {
      await file.handle.close()
      throw thrown
    }
  }

  #allocation(id: string): AllocationRunner {
    const found = this.#host.findAllocation(id)
    if (found !== undefined) return found
    throw new RemoteRefusal(404, `Unknown allocation ${JSON.stringify(id)}`)
  }

  #directory(id: string): string {
    const found = this.#host.directoryOf(id)
    if (found !== undefined) return found
    throw new RemoteRefusal(404, `state for allocation ${id} not found on client`, {
      code: 'allocation-not-on-node',
    })
  }

  /** A task that there is, and that was started once. */
  #started(allocation: string, task: string, more: string) {
    const found = findTask(this.#allocation(allocation), task)
    if (found === undefined)
      throw new RemoteRefusal(400, `unknown task name ${JSON.stringify(task)}`)
    const { State, StartedAt } = found.state
    if (State === 'pending' && StartedAt === ZERO_TIME)
      throw new RemoteRefusal(
        more === '' ? 400 : 404,
        `task ${JSON.stringify(task)} not started yet.${more}`,
      )
    return found
  }
}

const REPLY_BYTES_MAX = CHANNEL_MESSAGE_BYTES_MAX / 2

/** The contract's StreamOpening. */
const OPENED = '{"opened":true}'

const ignore = (): void => undefined

/** Bytes go one way only; it is read nevertheless, to notice when the other side leaves. */
function sending(send: Prepared['begin']): Prepared['begin'] {
  return async (stream, signal) => {
    stream.onMessage(ignore)
    await send(stream, signal)
    stream.close()
  }
}
