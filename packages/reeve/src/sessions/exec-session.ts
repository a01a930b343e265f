import { ExecRequestFrame } from '@reeve/contract'
import { Compile } from 'typebox/compile'
import { isBase64 } from '@reeve/kit/base64.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { pipeMessages, type StreamSocket } from '@reeve/kit/stream-socket.ts'
import { TokenBucket } from '@reeve/kit/token-bucket.ts'
import { LIMITS } from '../model/index.ts'

/** Close codes of a node's stream that its client receives unchanged. */
const FORWARDED_CODES: ReadonlySet<number> = new Set([1000, 1008, 1011])

/** Connects the WebSocket of a client to the stream of the node that runs its command. */
export function connectExec(client: StreamSocket, node: StreamSocket, budget: FrameBudget): void {
  client.onClose(() => {
    // A paused node stream would have to be read to its end before the node's close frame is seen.
    if (node.isPaused) node.terminate()
    else node.close(1001, 'the caller has gone')
  })
  node.onClose((code, reason) => {
    if (FORWARDED_CODES.has(code)) client.close(code, reason)
    else client.close(1011, 'the connection to the node was lost')
  })
  pipeMessages(node, client)
  forwardInput(client, node, { clock: realTimeClock, budget })
}

/** Frames are merged by the machine's time, independent of the server's clock. */
const realTimeClock: Clock = {
  nowMs: () => performance.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, wake) => {
    const timer = setTimeout(wake, delayMs).unref()
    return () => clearTimeout(timer)
  },
}

/** Limits the frames of a tenant. All of its sessions share one budget, on whatever nodes. */
export class ExecFrameLimits {
  readonly #buckets = new Map<string, TokenBucket>()
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #perSecond: number

  constructor(
    clock: Pick<Clock, 'monotonicMs'> = realTimeClock,
    perSecond: number = LIMITS.execFramesPerSecond,
  ) {
    this.#clock = clock
    this.#perSecond = perSecond
  }

  budgetOf(tenant: string): FrameBudget {
    return () => {
      const nowMs = this.#clock.monotonicMs()
      const bucket = this.#buckets.get(tenant) ?? this.#createBucket(tenant, nowMs)
      return bucket.tryTake(1, nowMs) ? 0 : bucket.waitForMs(1, nowMs)
    }
  }

  /** Creates the bucket of a tenant; those of idle tenants, which are full, are dropped. */
  #createBucket(tenant: string, nowMs: number): TokenBucket {
    for (const [id, bucket] of this.#buckets) if (bucket.isFull(nowMs)) this.#buckets.delete(id)
    const bucket = new TokenBucket(this.#perSecond, this.#perSecond, nowMs)
    this.#buckets.set(tenant, bucket)
    return bucket
  }
}

/** Counts a frame of a token. Returns 0 if it may be read now, else the milliseconds until then. */
export type FrameBudget = () => number

interface InputOptions {
  readonly clock: Clock
  readonly budget: FrameBudget
}

/**
 * Forwards the frames of an exec client to the node. A single frame is forwarded at once and
 * unchanged. Frames that follow within `execMergeMs` are merged: stdin is concatenated, only the
 * latest terminal size is kept, and heartbeats are combined. So a client that sends a frame for
 * each byte costs the node a few hundred frames per second at most. A client that fills the node's
 * buffer is not read until the buffer has drained, and frames beyond the budget of their token wait
 * in order.
 */
export function forwardInput(
  client: StreamSocket,
  node: StreamSocket,
  options: InputOptions,
): void {
  const input = new InputMerger(client, node, options)
  client.onMessage((data, isText) => input.receive(data, isText))
  node.onClose(() => input.stop())
}

class InputMerger {
  readonly #client: StreamSocket
  readonly #node: StreamSocket
  readonly #options: InputOptions
  readonly #pending = new PendingInput()
  /** Frames beyond the budget, which were in transit when the client was paused. */
  #waiting: (readonly [data: Uint8Array, isText: boolean])[] = []
  #isMerging = false
  #cancelMerge: () => void = () => undefined
  #cancelWait: () => void = () => undefined

  constructor(client: StreamSocket, node: StreamSocket, options: InputOptions) {
    this.#client = client
    this.#node = node
    this.#options = options
  }

  receive(data: Uint8Array, isText: boolean): void {
    if (this.#waiting.length > 0) return void this.#waiting.push([data, isText])
    const waitMs = this.#options.budget()
    if (waitMs > 0) {
      this.#waiting.push([data, isText])
      this.#client.pause()
      return this.#forwardLater(waitMs)
    }
    this.#forward(data, isText)
    if (this.#node.isFull) this.#client.pause()
  }

  stop(): void {
    this.#cancelMerge()
    this.#cancelWait()
    this.#waiting = []
  }

  #forward(data: Uint8Array, isText: boolean): void {
    if (!this.#isMerging) {
      this.#node.send(data, isText)
      this.#mergeNext()
    } else if (!this.#pending.add(data)) {
      // A frame that cannot be merged: the node validates it, in its original position.
      this.#flush()
      this.#node.send(data, isText)
    }
    if (this.#pending.stdinBytes >= LIMITS.execMergedBytesMax) this.#flush()
  }

  /** Sessions of a token share its budget, and take turns with a batch of frames each. */
  #forwardLater(waitMs: number): void {
    const delayMs = Math.max(waitMs, LIMITS.execThrottleMs)
    this.#cancelWait = this.#options.clock.after(delayMs, () => {
      void this.#node.drained().then(() => this.#forwardWaiting())
    })
  }

  #forwardWaiting(): void {
    let forwarded = 0
    for (const [data, isText] of this.#waiting) {
      const waitMs = this.#options.budget()
      if (waitMs > 0) {
        this.#waiting = this.#waiting.slice(forwarded)
        return this.#forwardLater(waitMs)
      }
      this.#forward(data, isText)
      forwarded++
    }
    this.#waiting = []
    this.#resume()
  }

  #resume(): void {
    if (this.#waiting.length === 0 && !this.#node.isFull) this.#client.resume()
  }

  #mergeNext(): void {
    this.#isMerging = true
    this.#cancelMerge = this.#options.clock.after(LIMITS.execMergeMs, () => {
      void this.#node.drained().then(() => this.#endMerging())
    })
  }

  #endMerging(): void {
    this.#resume()
    if (this.#flush()) this.#mergeNext()
    else this.#isMerging = false
  }

  /** Sends the merged frame. Returns false if nothing was pending. */
  #flush(): boolean {
    const frame = this.#pending.take()
    if (frame === undefined) return false
    this.#node.send(JSON.stringify(frame))
    return true
  }
}

const frameChecker = Compile(ExecRequestFrame)

/** Maximum number of rows or columns of a terminal (struct winsize of the kernel). */
const TERMINAL_SIZE_MAX = 65_535

type TtySize = NonNullable<ExecRequestFrame['tty_size']>

/** Merges several request frames into one. */
class PendingInput {
  #stdin: Buffer[] = []
  #stdinBytes = 0
  #closesStdin = false
  #size: TtySize | undefined
  #isEmpty = true

  get stdinBytes(): number {
    return this.#stdinBytes
  }

  /** Adds a frame. Returns false, without any change, if it is invalid. */
  add(data: Uint8Array): boolean {
    const frame = parseFrame(data)
    if (frame === undefined) return false
    const { stdin, tty_size: size } = frame
    const bytes = stdin?.data === undefined ? undefined : decodeBase64(stdin.data)
    if (stdin?.data !== undefined && bytes === undefined) return false
    this.#isEmpty = false
    if (size !== undefined && isTerminalSize(size)) this.#size = size
    // Input after the end of stdin is ignored.
    if (bytes !== undefined && !this.#closesStdin) {
      this.#stdin.push(bytes)
      this.#stdinBytes += bytes.length
    }
    this.#closesStdin ||= stdin?.close === true
    return true
  }

  /**
   * Returns everything as one frame, an empty one for heartbeats only; undefined if nothing was
   * added.
   */
  take(): ExecRequestFrame | undefined {
    if (this.#isEmpty) return undefined
    const stdin = {
      ...(this.#stdinBytes > 0 ? { data: Buffer.concat(this.#stdin).toString('base64') } : {}),
      ...(this.#closesStdin ? { close: true } : {}),
    }
    const frame = {
      ...(Object.keys(stdin).length > 0 ? { stdin } : {}),
      ...(this.#size === undefined ? {} : { tty_size: this.#size }),
    }
    this.#stdin = []
    this.#stdinBytes = 0
    this.#closesStdin = false
    this.#size = undefined
    this.#isEmpty = true
    return frame
  }
}

function parseFrame(data: Uint8Array): ExecRequestFrame | undefined {
  try {
    const value: unknown = JSON.parse(
      Buffer.from(data.buffer, data.byteOffset, data.length).toString(),
    )
    return frameChecker.Check(value) ? value : undefined
  } catch {
    // Invalid JSON: the node responds as to any frame that is not JSON.
    return undefined
  }
}

function decodeBase64(text: string): Buffer | undefined {
  return isBase64(text) ? Buffer.from(text, 'base64') : undefined
}

/** The node ignores other sizes, so they must not replace a valid one. */
function isTerminalSize({ height, width }: TtySize): boolean {
  return [height, width].every((value) => value > 0 && value <= TERMINAL_SIZE_MAX)
}
