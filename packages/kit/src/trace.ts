/**
 * Traces: what one request causes, as spans that name their parent (OpenTelemetry), and the header
 * that carries them from process to process (W3C Trace Context).
 */

/** Where a span is in a trace. */
export interface TraceContext {
  /** 32 digits, hexadecimal. */
  readonly traceId: string
  /** 16 digits, hexadecimal. */
  readonly spanId: string
  /** Whether spans of the trace are recorded. */
  readonly isSampled: boolean
}

export type SpanAttribute = string | number | boolean

export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer'

export interface SpanStart {
  readonly name: string
  /** Undefined begins a trace. */
  readonly parent: TraceContext | undefined
  readonly kind?: SpanKind
  readonly attributes?: Readonly<Record<string, SpanAttribute>>
  /** Milliseconds since the epoch; now unless given. */
  readonly startMs?: number
}

/** Something that takes time. */
export interface Span {
  readonly context: TraceContext
  set(name: string, value: SpanAttribute): void
  /** Ends it, with what went wrong if anything did. Only the first end counts. */
  end(error?: string, endMs?: number): void
}

/** Records spans. There is none where nothing is traced. */
export interface Tracer {
  start(span: SpanStart): Span
  /** Runs work whose spans belong below `parent`, also in what it awaits. */
  within<T>(parent: TraceContext, work: () => T): T
  /** The span of the work that awaits and runs now, as `within` has told. */
  readonly active: TraceContext | undefined
  /** The same for work that ends before it returns: what it starts for later is not below it. */
  during(parent: TraceContext, work: () => void): void
  readonly current: TraceContext | undefined
  /** Remembers which trace an evaluation or allocation belongs to; old ones are forgotten. */
  remember(id: string, context: TraceContext): void
  recall(id: string): TraceContext | undefined
}

export const TRACE_HEADER = 'traceparent'

const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/
const VERSION_0_LENGTH = 55
const SAMPLED = 1

/** Undefined for what is no `traceparent`: a trace of one's own begins then. */
export function parseTraceparent(text: unknown): TraceContext | undefined {
  if (typeof text !== 'string' || text.length > 512) return undefined
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  // Only later versions may add fields.
  if (text.startsWith('00') && text.length !== VERSION_0_LENGTH) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED }
}

export function formatTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}
