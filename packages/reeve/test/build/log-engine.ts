/** The part of a container engine that sends logs, with the entries and the failures of a test. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { framed } from './fake-container.ts'

interface Entry {
  readonly stream: 1 | 2
  readonly atNs: bigint
  readonly bytes: Buffer
}

const START_NS = BigInt(Date.parse('2026-01-02T03:04:05Z')) * 1_000_000n

/** Entries that share their time, as those have that an engine read at once. */
const PER_MOMENT = 50

export class LogEngine {
  readonly socketPath: string
  /** Whether the container runs: a stream that follows it does not end. */
  isRunning = false
  /** Answers with this status and no log, while it is set. */
  failsWith: number | undefined
  /** Breaks off after this many entries of each answer. */
  breaksAfter = Number.POSITIVE_INFINITY
  /** Leaves streams that follow open when the container has ended, as some engines do. */
  leavesOpen = false
  /** Leaves out every other entry of streams that follow a container which has ended. */
  hasGaps = false
  readonly #entries: Entry[] = []
  readonly #changed = new Set<() => void>()
  #server: Server | undefined

  static async open(dir: string): Promise<LogEngine> {
    const engine = new LogEngine(join(dir, 'log-engine.sock'))
    const server = createServer((request, response) => engine.#answer(request, response))
    await new Promise<void>((resolve) => server.listen(engine.socketPath, () => resolve()))
    engine.#server = server
    return engine
  }

  constructor(socketPath: string) {
    this.socketPath = socketPath
  }

  close(): void {
    this.#server?.closeAllConnections()
    this.#server?.close()
  }

  /** The container writes; each piece is an entry of the log. */
  write(pieces: readonly Buffer[], stream: 1 | 2 = 1): void {
    for (const bytes of pieces) {
      const atNs = START_NS + BigInt(Math.floor(this.#entries.length / PER_MOMENT)) * 10_000_000n
      this.#entries.push({ stream, atNs, bytes })
    }
    for (const look of this.#changed) look()
  }

  end(): void {
    this.isRunning = false
    for (const look of this.#changed) look()
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { searchParams } = new URL(request.url ?? '/', 'http://engine')
    if (this.failsWith !== undefined) {
      response.writeHead(this.failsWith).end()
      return
    }
    const [seconds = '0', fraction = '0'] = (searchParams.get('since') ?? '0').split('.')
    const sinceNs = BigInt(seconds) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'))
    response.writeHead(200)
    response.flushHeaders()
    this.#stream(response, { follows: searchParams.get('follow') === '1', sinceNs })
  }

  #stream(
    response: ServerResponse,
    { follows, sinceNs }: { readonly follows: boolean; readonly sinceNs: bigint },
  ): void {
    let [next, sent] = [0, 0]
    const give = (): void => {
      const pieces: Buffer[] = []
      for (; next < this.#entries.length; next += 1) {
        const entry = this.#entries[next]
        // Some engines leave out what bears exactly the time that is asked for.
        if (entry === undefined || entry.atNs <= sinceNs) continue
        if (this.hasGaps && follows && !this.isRunning && next % 2 === 1) continue
        sent += 1
        pieces.push(framed(entry))
        if (sent < this.breaksAfter) continue
        // What was sent before it breaks off arrives.
        response.write(Buffer.concat(pieces), () => response.destroy())
        this.#changed.delete(give)
        return
      }
      if (pieces.length > 0) response.write(Buffer.concat(pieces))
      if (follows && (this.isRunning || this.leavesOpen)) return
      this.#changed.delete(give)
      response.end()
    }
    this.#changed.add(give)
    response.once('close', () => this.#changed.delete(give))
    give()
  }
}
