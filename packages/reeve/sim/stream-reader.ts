import type { Commit } from '../src/state/index.ts'
import type { EventBroker } from '../src/sessions/index.ts'
import type { RandomStream } from './random-stream.ts'
import { Violation } from './trace.ts'

interface StreamLine {
  readonly Index?: number
  readonly Events?: readonly {
    readonly Topic: string
    readonly Type: string
    readonly Key: string
  }[]
  readonly Gap?: { readonly From: number; readonly To: number }
  readonly Closed?: string
}

const ALL_EVENTS = { groupKey: 'everything', matches: () => true }

/**
 * Follows the event stream across reconnections and crashes and compares it with the commits: no
 * event is missing or duplicated, and gaps are announced and cover only commits beyond retention.
 */
export class StreamReader {
  readonly #random: RandomStream
  /** Expected events of each commit, in order. */
  readonly #expectedEvents = new Map<number, string>()
  #lastIndex = 0
  #close: () => void = () => undefined
  #firstRetained: () => number = () => 1
  #violation: Violation | undefined

  constructor(random: RandomStream) {
    this.#random = random
  }

  /** Registers a published commit. */
  recordCommit({ index, events }: Commit): void {
    if (events.length > 0)
      this.#expectedEvents.set(
        index,
        events.map(({ Topic, Type, Key }) => `${Topic} ${Type} ${Key}`).join('\n'),
      )
  }

  /** Resumes at the last position. */
  open(hub: EventBroker, firstKept: () => number): void {
    this.#firstRetained = firstKept
    let isOpen = true
    const read = (text: string): void => {
      if (isOpen) this.#onText(text)
    }
    const unsubscribe = hub.open(
      {
        ...ALL_EVENTS,
        recheckAccess: () => undefined,
        expiresMs: undefined,
        yieldToEventLoop: () => new Promise((resolve) => setImmediate(resolve)),
        sink: {
          write: read,
          backlogBytes: () => 0,
          whenDrained: () => Promise.resolve(),
          end: read,
        },
      },
      this.#lastIndex + 1,
    )
    this.#close = () => {
      isOpen = false
      unsubscribe()
    }
  }

  close(): void {
    this.#close()
  }

  /** Sometimes reconnects at an earlier position and ignores the overlap. */
  reopen(hub: EventBroker, firstKept: () => number): void {
    this.close()
    if (this.#random.chance(0.2)) this.#lastIndex = Math.max(0, this.#lastIndex - 3)
    this.open(hub, firstKept)
  }

  /** Throws a violation if one was found or events up to the index are missing. */
  check(upTo: number): void {
    if (this.#violation !== undefined) throw this.#violation
    for (const index of this.#expectedEvents.keys())
      if (index > this.#lastIndex && index <= upTo)
        throw new Violation('the stream equals the commits', `commit ${index} never came`)
  }

  rethrow(): void {
    if (this.#violation !== undefined) throw this.#violation
  }

  #onText(text: string): void {
    try {
      for (const line of text.split('\n'))
        // Proof: the hub writes only such lines.
        if (line !== '' && line !== '{}') this.#onLine(JSON.parse(line) as StreamLine)
    } catch (thrown) {
      if (!(thrown instanceof Violation)) throw thrown
      this.#violation ??= thrown
    }
  }

  #onLine({ Index = 0, Events = [], Gap, Closed }: StreamLine): void {
    if (Closed !== undefined) return this.#confirmUpTo(Index)
    if (Gap !== undefined) {
      if (Gap.To >= this.#firstRetained() || Gap.From > this.#lastIndex + 1)
        throw new Violation(
          'the stream equals the commits',
          `gap from ${Gap.From} to ${Gap.To}, read up to ${this.#lastIndex}, kept from ${this.#firstRetained()}`,
        )
      this.#lastIndex = Gap.To
      return
    }
    if (Index <= this.#lastIndex)
      throw new Violation('the stream equals the commits', `${Index} came after ${this.#lastIndex}`)
    this.#checkUpTo(Index - 1)
    const actual = Events.map(({ Topic, Type, Key }) => `${Topic} ${Type} ${Key}`).join('\n')
    if (this.#expectedEvents.get(Index) !== actual)
      throw new Violation(
        'the stream equals the commits',
        `${Index} has the events ${actual}, not ${this.#expectedEvents.get(Index)}`,
      )
    this.#lastIndex = Index
  }

  /** The last line confirms that everything up to its index was received. */
  #confirmUpTo(index: number): void {
    this.#checkUpTo(index)
    this.#lastIndex = Math.max(this.#lastIndex, index)
  }

  #checkUpTo(index: number): void {
    for (let missed = this.#lastIndex + 1; missed <= index; missed++)
      if (this.#expectedEvents.has(missed))
        throw new Violation('the stream equals the commits', `${missed} did not come`)
  }
}
