interface JobLogOptions {
  /** Keep the prefix of lines. Set automatically when a second task appears. */
  readonly keepsPrefix: boolean
  /** Lines to skip per allocation and task. */
  readonly linesToSkip?: ReadonlyMap<string, number>
  /** Whether to print lines of the allocation with this short ID; called once per allocation. */
  readonly isShown: (shortId: string) => Promise<boolean>
}

const PREFIX = /^([0-9a-f]{8}) (\S+): /

/** Filters the merged log of a job, in which each line starts with its allocation and task. */
export class JobLogFilter {
  readonly #options: JobLogOptions
  readonly #decoder = new TextDecoder()
  readonly #isShownById = new Map<string, boolean>()
  readonly #sources = new Set<string>()
  readonly #skipped: Map<string, number>
  #incompleteLine = ''

  constructor(options: JobLogOptions) {
    this.#options = options
    this.#skipped = new Map(options.linesToSkip)
  }

  /** Returns the lines to print of a chunk. An incomplete line is kept for the next chunk. */
  async add(bytes: Uint8Array): Promise<string> {
    const text = this.#incompleteLine + this.#decoder.decode(bytes, { stream: true })
    const lines = text.split('\n')
    this.#incompleteLine = lines.pop() ?? ''
    let shown = ''
    for (const line of lines) shown += await this.#filterLine(line)
    return shown
  }

  async #filterLine(line: string): Promise<string> {
    const [prefix, short, task] = PREFIX.exec(line) ?? []
    // A message of the server about a log that it cannot read.
    if (prefix === undefined || short === undefined) return `${line}\n`
    const isShown = this.#isShownById.get(short) ?? (await this.#options.isShown(short))
    this.#isShownById.set(short, isShown)
    const place = `${short} ${task}`
    if (!isShown || this.#isSkipped(place)) return ''
    this.#sources.add(place)
    const isKept = this.#options.keepsPrefix || this.#sources.size > 1
    return `${isKept ? line : line.slice(prefix.length)}\n`
  }

  #isSkipped(place: string): boolean {
    const left = this.#skipped.get(place) ?? 0
    if (left > 0) this.#skipped.set(place, left - 1)
    return left > 0
  }
}
