import type { FaultWorld } from './cluster-faults-world.ts'
import type { ServerProcess } from './cluster-process.ts'

interface Line {
  readonly Index?: number
  readonly Gap?: unknown
  readonly Closed?: string
}

const SILENCE_MS_MAX = 15_000
const AGAIN_MS = 50

/**
 * One reader of the event stream that goes to another server whenever its stream ends, and on from
 * where it was.
 */
export class FaultStream {
  /** In the order in which they came. */
  readonly indexes: number[] = []
  /** What no reader may see: the same again, something older, a gap. */
  readonly wrong: string[] = []
  /** How often it had to begin again. */
  connections = 0
  readonly #world: FaultWorld
  readonly #ending = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(world: FaultWorld) {
    this.#world = world
  }

  get last(): number {
    return this.indexes.at(-1) ?? 0
  }

  start(): void {
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#ending.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    for (let n = 0; !this.#ending.signal.aborted; n++) {
      const server = this.#world.servers[n % this.#world.servers.length]
      // However it ends, the next one goes on.
      if (server !== undefined) await this.#read(server).catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
    }
  }

  async #read({ address }: ServerProcess): Promise<void> {
    this.connections += 1
    const silence = new AbortController()
    const signal = AbortSignal.any([this.#ending.signal, silence.signal])
    let timer = setTimeout(() => silence.abort(), SILENCE_MS_MAX)
    try {
      const url = `${address}/v1/event/stream?topic=Job&index=${this.last + 1}`
      const answer = await fetch(url, { signal })
      if (answer.status !== 200 || answer.body === null) return
      let rest = ''
      for await (const chunk of answer.body) {
        clearTimeout(timer)
        timer = setTimeout(() => silence.abort(), SILENCE_MS_MAX)
        const lines = (rest + Buffer.from(chunk).toString()).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) if (line !== '' && line !== '{}') this.#take(line)
      }
    } finally {
      clearTimeout(timer)
    }
  }

  #take(text: string): void {
    // Every line of the stream has this shape.
    const { Index, Gap, Closed } = JSON.parse(text) as Line
    if (Gap !== undefined) this.wrong.push(`a gap: ${text}`)
    // The last line of a stream repeats how far it came.
    if (Index === undefined || Closed !== undefined) return
    if (Index <= this.last) this.wrong.push(`${Index} after ${this.last}`)
    this.indexes.push(Index)
  }
}
