interface JobLogOptions {
  /** Several tasks write: each line says which. Becomes true when a second one appears. */
  readonly isKeptPrefix: boolean
  /** How many lines of an allocation and task are before those that are wanted. */
  readonly skipped?: ReadonlyMap<string, number>
  /** Whether lines of the allocation with this short id are wanted; asked once for each. */
  readonly isShown: (shortId: string) => Promise<boolean>
}

const PREFIX = /^([0-9a-f]{8}) (\S+): /

/** Takes apart the merged output of a job, whose lines begin with their allocation and task. */
export class JobLogLines {
  readonly #options: JobLogOptions
  readonly #decoder = new TextDecoder()
  readonly #known = new Map<string, boolean>()
  readonly #places = new Set<string>()
  readonly #skipped: Map<string, number>
  #rest = ''

  constructor(options: JobLogOptions) {
    this.#options = options
    this.#skipped = new Map(options.skipped)
  }

  /** The lines to show of the next piece; one without an end waits for it. */
  async add(bytes: Uint8Array): Promise<string> {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true })
    const lines = text.split('\n')
    this.#rest = lines.pop() ?? ''
    let shown = ''
    for (const line of lines) shown += await this.#shown(line)
    return shown
  }

  async #shown(line: string): Promise<string> {
    const [prefix, short, task] = PREFIX.exec(line) ?? []
    // A line of the server itself: which output it could not read, and why.
    if (prefix === undefined || short === undefined) return `${line}\n`
    const isShown = this.#known.get(short) ?? (await this.#options.isShown(short))
    this.#known.set(short, isShown)
    const place = `${short} ${task}`
    if (!isShown || this.#isSkipped(place)) return ''
    this.#places.add(place)
    const isKept = this.#options.isKeptPrefix || this.#places.size > 1
    return `${isKept ? line : line.slice(prefix.length)}\n`
  }

  #isSkipped(place: string): boolean {
    const left = this.#skipped.get(place) ?? 0
    if (left > 0) this.#skipped.set(place, left - 1)
    return left > 0
  }
}
