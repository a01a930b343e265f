import { ExecRequestFrame } from '@reeve/contract'
import { Compile } from 'typebox/compile'
import { isBase64 } from '@reeve/kit/base64.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS } from '../../model/index.ts'

/** Counts a frame of a token. Zero when it may be read now, else the time until one may be. */
export type FrameBudget = () => number

export interface InputOptions {
  readonly clock: Clock
  readonly budget: FrameBudget
}

/**
 * Passes the frames of an exec client on to the node. A frame that comes alone is passed on at
 * once, as it is. Frames that follow within `execMergeMs` are merged into one: stdin is
 * concatenated, only the latest terminal size is kept, heartbeats collapse. A client that sends a
 * frame for each byte thus costs the node a few hundred frames per second, whatever it sends. A
 * client that fills the node's buffer is not read until the buffer has drained, and frames beyond
 * the budget of their token wait in order.
 */
export function passInput(client: StreamSocket, node: StreamSocket, options: InputOptions): void {
  const input = new InputMerger(client, node, options)
  client.onMessage((data, isText) => input.receive(data, isText))
  node.onClose(() => input.stop())
}

class InputMerger {
  readonly #client: StreamSocket
  readonly #node: StreamSocket
  readonly #options: InputOptions
  readonly #pending = new PendingInput()
  /** Frames beyond the budget: those that were on their way when the client was paused. */
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
      return this.#wait(waitMs)
    }
    this.#pass(data, isText)
    if (this.#node.isFull) this.#client.pause()
  }

  stop(): void {
    this.#cancelMerge()
    this.#cancelWait()
    this.#waiting = []
  }

  #pass(data: Uint8Array, isText: boolean): void {
    if (!this.#isMerging) {
      this.#node.send(data, isText)
      this.#mergeNext()
    } else if (!this.#pending.add(data)) {
      // Not a frame this server can merge: the node decides about it, in its place in the order.
      this.#flush()
      this.#node.send(data, isText)
    }
    if (this.#pending.stdinBytes >= LIMITS.execMergedBytesMax) this.#flush()
  }

  /** Sessions of a token share its budget: each is served in turn, a batch of frames at a time. */
  #wait(waitMs: number): void {
    const delayMs = Math.max(waitMs, LIMITS.execThrottleMs)
    this.#cancelWait = this.#options.clock.after(delayMs, () => {
      void this.#node.drained().then(() => this.#passWaiting())
    })
  }

  #passWaiting(): void {
    let passed = 0
    for (const [data, isText] of this.#waiting) {
      const waitMs = this.#options.budget()
      if (waitMs > 0) {
        this.#waiting = this.#waiting.slice(passed)
        return this.#wait(waitMs)
      }
      this.#pass(data, isText)
      passed++
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

  /** Whether anything was pending. */
  #flush(): boolean {
    const frame = this.#pending.take()
    if (frame === undefined) return false
    this.#node.send(JSON.stringify(frame))
    return true
  }
}

const checker = Compile(ExecRequestFrame)

/** The largest number of rows or columns of a terminal (struct winsize of the kernel). */
const TERMINAL_SIZE_MAX = 65_535

type TtySize = NonNullable<ExecRequestFrame['tty_size']>

/** Several request frames as one. */
class PendingInput {
  #stdin: Buffer[] = []
  #stdinBytes = 0
  #closesStdin = false
  #size: TtySize | undefined
  #isEmpty = true

  get stdinBytes(): number {
    return this.#stdinBytes
  }

  /** False when the frame is not valid; then nothing of it was added. */
  add(data: Uint8Array): boolean {
    const frame = readFrame(data)
    if (frame === undefined) return false
    const { stdin, tty_size: size } = frame
    const bytes = stdin?.data === undefined ? undefined : readBase64(stdin.data)
    if (stdin?.data !== undefined && bytes === undefined) return false
    this.#isEmpty = false
    if (size !== undefined && isTerminalSize(size)) this.#size = size
    // Nothing follows the end of the input.
    if (bytes !== undefined && !this.#closesStdin) {
      this.#stdin.push(bytes)
      this.#stdinBytes += bytes.length
    }
    this.#closesStdin ||= stdin?.close === true
    return true
  }

  /** All of it as one frame, an empty one for heartbeats alone; undefined when nothing came. */
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

function readFrame(data: Uint8Array): ExecRequestFrame | undefined {
  try {
    const value: unknown = JSON.parse(
      Buffer.from(data.buffer, data.byteOffset, data.length).toString(),
    )
    return checker.Check(value) ? value : undefined
  } catch {
    // A SyntaxError: the node answers it as it answers every frame that is not JSON.
    return undefined
  }
}

function readBase64(text: string): Buffer | undefined {
  return isBase64(text) ? Buffer.from(text, 'base64') : undefined
}

/** The node ignores other sizes, so they must not replace a valid one. */
function isTerminalSize({ height, width }: TtySize): boolean {
  return [height, width].every((value) => value > 0 && value <= TERMINAL_SIZE_MAX)
}
