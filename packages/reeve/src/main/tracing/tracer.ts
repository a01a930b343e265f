import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import type { Clock, Random } from '@reeve/kit/clock.ts'
import { LruCache } from '@reeve/kit/lru-cache.ts'
import type {
  Span,
  SpanAttribute,
  SpanKind,
  SpanStart,
  TraceContext,
  Tracer,
} from '@reeve/kit/trace.ts'

/** Evaluations and allocations whose trace is remembered until they have been carried out. */
const REMEMBERED_MAX = 20_000
/** Attributes of one span, and characters of one value; callers choose some of them. */
const ATTRIBUTES_MAX = 32
const VALUE_CHARS_MAX = 512
/** A clock that was set by more than this is followed. */
const DRIFT_MS_MAX = 50

/** A span that has ended. */
export interface EndedSpan {
  readonly context: TraceContext
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly kind: SpanKind
  readonly startMs: number
  readonly endMs: number
  readonly attributes: ReadonlyMap<string, SpanAttribute>
  /** Undefined when nothing went wrong. */
  readonly error: string | undefined
}

export interface TracerOptions {
  readonly clock: Clock
  readonly random: Random
  /** Share of traces that begin here and are recorded; callers decide about theirs. */
  readonly sampleRatio: number
  readonly ended: (span: EndedSpan) => void
}

/** Makes spans, and keeps the one that running work belongs to. */
export class SpanRecorder implements Tracer {
  readonly #options: TracerOptions
  readonly #running = new AsyncLocalStorage<TraceContext>()
  readonly #remembered = new LruCache<string, TraceContext>({ weightMax: REMEMBERED_MAX })
  #current: TraceContext | undefined
  #offsetMs: number

  constructor(options: TracerOptions) {
    this.#options = options
    this.#offsetMs = options.clock.nowMs() - options.clock.monotonicMs()
  }

  get active(): TraceContext | undefined {
    return this.#running.getStore()
  }

  within<T>(parent: TraceContext, work: () => T): T {
    return this.#running.run(parent, work)
  }

  get current(): TraceContext | undefined {
    return this.#current
  }

  during(parent: TraceContext, work: () => void): void {
    const outer = this.#current
    this.#current = parent
    try {
      work()
    } finally {
      this.#current = outer
    }
  }

  remember(id: string, context: TraceContext): void {
    this.#remembered.set(id, context)
  }

  recall(id: string): TraceContext | undefined {
    return this.#remembered.get(id)
  }

  start(span: SpanStart): Span {
    const { parent } = span
    const isSampled = parent?.isSampled ?? this.#options.random.next() < this.#options.sampleRatio
    const context = {
      traceId: parent?.traceId ?? randomBytes(16).toString('hex'),
      spanId: randomBytes(8).toString('hex'),
      isSampled,
    }
    if (!isSampled) return { context, set: () => undefined, end: () => undefined }
    return new RecordedSpan(context, span, {
      nowMs: () => this.#nowMs(),
      ended: this.#options.ended,
    })
  }

  /** The wall clock, to the microsecond: most spans take less than a millisecond. */
  #nowMs(): number {
    const { clock } = this.#options
    const preciseMs = clock.monotonicMs() + this.#offsetMs
    const wallMs = clock.nowMs()
    if (Math.abs(wallMs - preciseMs) < DRIFT_MS_MAX) return preciseMs
    this.#offsetMs = wallMs - clock.monotonicMs()
    return wallMs
  }
}

interface RecordedSpanOptions {
  readonly nowMs: () => number
  readonly ended: (span: EndedSpan) => void
}

class RecordedSpan implements Span {
  readonly context: TraceContext
  readonly #start: SpanStart
  readonly #options: RecordedSpanOptions
  readonly #startMs: number
  readonly #attributes = new Map<string, SpanAttribute>()
  #isEnded = false

  constructor(context: TraceContext, start: SpanStart, options: RecordedSpanOptions) {
    this.context = context
    this.#start = start
    this.#options = options
    this.#startMs = start.startMs ?? options.nowMs()
    for (const [name, value] of Object.entries(start.attributes ?? {})) this.set(name, value)
  }

  set(name: string, value: SpanAttribute): void {
    if (this.#attributes.size >= ATTRIBUTES_MAX && !this.#attributes.has(name)) return
    const kept = typeof value === 'string' ? value.slice(0, VALUE_CHARS_MAX) : value
    this.#attributes.set(name, kept)
  }

  end(error?: string, endMs?: number): void {
    if (this.#isEnded) return
    this.#isEnded = true
    const { name, kind = 'internal', parent } = this.#start
    this.#options.ended({
      context: this.context,
      parentSpanId: parent?.spanId,
      name,
      kind,
      startMs: this.#startMs,
      endMs: Math.max(this.#startMs, endMs ?? this.#options.nowMs()),
      attributes: this.#attributes,
      error: error?.slice(0, VALUE_CHARS_MAX),
    })
  }
}
