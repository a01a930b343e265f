import type { Commit } from '../src/state/index.ts'
import type { EventHub } from '../src/workload/index.ts'
import type { Draws } from './draws.ts'
import { Violation } from './trace.ts'

interface Line {
  readonly Index?: number
  readonly Events?: readonly {
    readonly Topic: string
    readonly Type: string
    readonly Key: string
  }[]
  readonly Gap?: { readonly From: number; readonly To: number }
  readonly Closed?: string
}

const EVERYTHING = { signature: 'everything', wants: () => true }

/**
 * Follows the event stream across reconnections and crashes and compares it with the commits: no
 * event is missing or duplicated, and gaps are announced and cover only commits beyond retention.
 */
export class StreamReader {
  readonly #draws: Draws
  /** Expected events of each commit, in order. */
  readonly #wanted = new Map<number, string>()
  #lastIndex = 0
  #close: () => void = () => undefined
  #firstKept: () => number = () => 1
  #violation: Violation | undefined

  constructor(draws: Draws) {
    this.#draws = draws
  }

  /** Registers a published commit. */
  expect({ index, events }: Commit): void {
    if (events.length > 0)
      this.#wanted.set(
        index,
        events.map(({ Topic, Type, Key }) => `${Topic} ${Type} ${Key}`).join('\n'),
      )
  }

  /** Resumes at the last position. */
  open(hub: EventHub, firstKept: () => number): void {
    this.#firstKept = firstKept
    let isOpen = true
    const read = (text: string): void => {
      if (isOpen) this.#read(text)
    }
    const leave = hub.open(
      {
        ...EVERYTHING,
        refusalNow: () => undefined,
        expiresMs: undefined,
        yieldTurn: () => new Promise((resolve) => setImmediate(resolve)),
        sink: {
          write: read,
          backlogBytes: () => 0,
          drained: () => Promise.resolve(),
          end: read,
        },
      },
      this.#lastIndex + 1,
    )
    this.#close = () => {
      isOpen = false
      leave()
    }
  }

  close(): void {
    this.#close()
  }

  /** Sometimes reconnects at an earlier position and ignores the overlap. */
  reopen(hub: EventHub, firstKept: () => number): void {
    this.close()
    if (this.#draws.chance(0.2)) this.#lastIndex = Math.max(0, this.#lastIndex - 3)
    this.open(hub, firstKept)
  }

  /** Throws a violation if one was found or events up to the index are missing. */
  check(upTo: number): void {
    if (this.#violation !== undefined) throw this.#violation
    for (const index of this.#wanted.keys())
      if (index > this.#lastIndex && index <= upTo)
        throw new Violation('the stream equals the commits', `commit ${index} never came`)
  }

  rethrow(): void {
    if (this.#violation !== undefined) throw this.#violation
  }

  #read(text: string): void {
    try {
      for (const line of text.split('\n'))
        // Proof: the hub writes only such lines.
        if (line !== '' && line !== '{}') this.#take(JSON.parse(line) as Line)
    } catch (thrown) {
      if (!(thrown instanceof Violation)) throw thrown
      this.#violation ??= thrown
    }
  }

  #take({ Index = 0, Events = [], Gap, Closed }: Line): void {
    if (Closed !== undefined) return this.#resumeBehind(Index)
    if (Gap !== undefined) {
      if (Gap.To >= this.#firstKept() || Gap.From > this.#lastIndex + 1)
        throw new Violation(
          'the stream equals the commits',
          `gap from ${Gap.From} to ${Gap.To}, read up to ${this.#lastIndex}, kept from ${this.#firstKept()}`,
        )
      this.#lastIndex = Gap.To
      return
    }
    if (Index <= this.#lastIndex)
      throw new Violation('the stream equals the commits', `${Index} came after ${this.#lastIndex}`)
    this.#checkUpTo(Index - 1)
    const got = Events.map(({ Topic, Type, Key }) => `${Topic} ${Type} ${Key}`).join('\n')
    if (this.#wanted.get(Index) !== got)
      throw new Violation(
        'the stream equals the commits',
        `${Index} has the events ${got}, not ${this.#wanted.get(Index)}`,
      )
    this.#lastIndex = Index
  }

  /** The last line confirms that everything up to its index was received. */
  #resumeBehind(index: number): void {
    this.#checkUpTo(index)
    this.#lastIndex = Math.max(this.#lastIndex, index)
  }

  #checkUpTo(index: number): void {
    for (let missed = this.#lastIndex + 1; missed <= index; missed++)
      if (this.#wanted.has(missed))
        throw new Violation('the stream equals the commits', `${missed} did not come`)
  }
}
