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

/**
 * Maximum number of evaluations and allocations whose trace is remembered until they are processed.
 */
const REMEMBERED_MAX = 20_000
/** Limits of the attributes of a span, some of which callers choose. */
const ATTRIBUTES_MAX = 32
const VALUE_CHARS_MAX = 512
/** If the wall clock differs by more than this, the span clock is reset to it. */
const DRIFT_MS_MAX = 50

/** An ended span. */
export interface EndedSpan {
  readonly context: TraceContext
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly kind: SpanKind
  readonly startMs: number
  readonly endMs: number
  readonly attributes: ReadonlyMap<string, SpanAttribute>
  /** Undefined without an error. */
  readonly error: string | undefined
}

interface TracerOptions {
  readonly clock: Clock
  readonly random: Random
  /** Share of new traces that are recorded; for propagated traces the caller decides. */
  readonly sampleRatio: number
  readonly onEnd: (span: EndedSpan) => void
}

/** Creates spans and tracks the active one. */
export class SpanRecorder implements Tracer {
  readonly #options: TracerOptions
  readonly #asyncContext = new AsyncLocalStorage<TraceContext>()
  readonly #contextById = new LruCache<string, TraceContext>({ weightMax: REMEMBERED_MAX })
  #current: TraceContext | undefined
  #offsetMs: number

  constructor(options: TracerOptions) {
    this.#options = options
    this.#offsetMs = options.clock.nowMs() - options.clock.monotonicMs()
  }

  get active(): TraceContext | undefined {
    return this.#asyncContext.getStore()
  }

  within<T>(parent: TraceContext, work: () => T): T {
    return this.#asyncContext.run(parent, work)
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
    this.#contextById.set(id, context)
  }

  recall(id: string): TraceContext | undefined {
    return this.#contextById.get(id)
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
      onEnd: this.#options.onEnd,
    })
  }

  /**
   * Wall-clock time with microsecond precision, because most spans are shorter than a millisecond.
   */
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
  readonly onEnd: (span: EndedSpan) => void
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
    this.#options.onEnd({
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
