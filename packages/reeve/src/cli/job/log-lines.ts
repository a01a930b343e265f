interface JobLogOptions {
  /** Several tasks write: each line says which. Becomes true when a second one appears. */
  readonly isKeptPrefix: boolean
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
  #rest = ''

  constructor(options: JobLogOptions) {
    this.#options = options
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
    if (!isShown) return ''
    this.#places.add(`${short} ${task}`)
    const isKept = this.#options.isKeptPrefix || this.#places.size > 1
    return `${isKept ? line : line.slice(prefix.length)}\n`
  }
}
