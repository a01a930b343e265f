/**
 * Distributed tracing: spans (OpenTelemetry), and the header that propagates their context between
 * processes (W3C Trace Context).
 */

/** Identifies a span within a trace. */
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
  /** Parent span; undefined starts a new trace. */
  readonly parent: TraceContext | undefined
  readonly kind?: SpanKind
  readonly attributes?: Readonly<Record<string, SpanAttribute>>
  /** Milliseconds since the epoch; now unless given. */
  readonly startMs?: number
}

/** A timed operation. */
export interface Span {
  readonly context: TraceContext
  set(name: string, value: SpanAttribute): void
  /** Ends the span, with an error message if the operation failed. Later calls are ignored. */
  end(error?: string, endMs?: number): void
}

/** Records spans. Undefined wherever tracing is off. */
export interface Tracer {
  start(span: SpanStart): Span
  /** Runs work whose spans belong below `parent`, also in what it awaits. */
  within<T>(parent: TraceContext, work: () => T): T
  /** Context set by the enclosing `within`, across awaits. */
  readonly active: TraceContext | undefined
  /** Runs synchronous work below `parent`. Asynchronous work that it starts is not included. */
  during(parent: TraceContext, work: () => void): void
  readonly current: TraceContext | undefined
  /** Stores the trace of an evaluation or allocation in a bounded cache. */
  remember(id: string, context: TraceContext): void
  recall(id: string): TraceContext | undefined
}

export const TRACE_HEADER = 'traceparent'

const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/
const VERSION_0_LENGTH = 55
const SAMPLED = 1

/**
 * Parses a `traceparent` header; undefined if it is invalid, so that the caller starts a new trace.
 */
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
