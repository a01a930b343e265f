import { ScreenBuffer } from './screen-buffer.ts'
import type { CliHost } from '../../src/cli/index.ts'
import { until } from './until.ts'

/** On a machine that is busy with other tests. */
const WITHIN_MS = 180_000

/** A terminal in this process: what is on it, and a person who types. */
export interface ScreenBench {
  readonly host: CliHost
  readonly screen: ScreenBuffer
  /** Whether keys come one by one, as full-screen programs need them. */
  readonly isRaw: boolean
  type(keys: string): void
  resize(rows: number, columns: number): void
  /** Waits until the screen shows it, and gives the screen. */
  shows(text: string | RegExp): Promise<string>
}

interface ScreenWish {
  readonly rows: number
  readonly columns: number
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
  /** Told of every write before it happens; may throw, as a bug would. */
  readonly onWrite?: (text: string) => void
}

export function aScreen(wish: ScreenWish): ScreenBench {
  const { directory, environment, onWrite } = wish
  const screen = new ScreenBuffer()
  const resizes = new Set<() => void>()
  const typed = new TypedKeys()
  let { rows, columns } = wish
  let isRaw = false
  const out = (text: string): void => {
    onWrite?.(text)
    screen.write(text)
  }
  const host: CliHost = {
    out,
    err: out,
    environment,
    directory,
    input: typed,
    isTerminal: true,
    columns: () => columns,
    rows: () => rows,
    nowMs: () => Date.now(),
    outBytes: async (bytes) => out(Buffer.from(bytes).toString('utf8')),
    errBytes: async (bytes) => out(Buffer.from(bytes).toString('utf8')),
    onInterrupt: () => () => undefined,
    onResize(listener) {
      resizes.add(listener)
      return () => void resizes.delete(listener)
    },
    enterRawMode() {
      isRaw = true
      return () => {
        isRaw = false
      }
    },
  }
  return {
    host,
    screen,
    get isRaw() {
      return isRaw
    },
    type: (keys) => typed.type(keys),
    resize(height, width) {
      rows = height
      columns = width
      for (const listener of resizes) listener()
    },
    async shows(text) {
      const isThere = (): boolean =>
        typeof text === 'string' ? screen.text().includes(text) : text.test(screen.text())
      await until(`${String(text)} on the screen`, () => isThere() || undefined, WITHIN_MS).catch(
        (thrown: unknown) => {
          throw new Error(`${String(thrown)}\n${screen.text()}`)
        },
      )
      return screen.text()
    },
  }
}

class TypedKeys {
  readonly isTTY = true
  #waiting: string[] = []
  #wake: () => void = () => undefined
  #isOver = false

  type(keys: string): void {
    this.#waiting.push(keys)
    this.#wake()
  }

  destroy(): void {
    this.#isOver = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    for (;;) {
      const next = this.#waiting.shift()
      if (next !== undefined) yield next
      else if (this.#isOver) return
      else await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}
