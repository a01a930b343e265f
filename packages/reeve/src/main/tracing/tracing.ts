import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { SpanAttribute, SpanKind, Tracer } from '@reeve/kit/trace.ts'
import type { GaugeSources } from '../../http/index.ts'
import type { StoreOptions } from '../../state/index.ts'
import type { AgentConfig } from '../config/agent-config.ts'
import type { Logger } from '../log.ts'
import { readTextUpTo, systemClock, systemRandom } from '../system.ts'
import { type EndedSpan, SpanRecorder } from './tracer.ts'

/** Tables whose rows are processed later as part of the trace of their commit. */
const TRACED_TABLES = new Set(['evaluations', 'allocations'])

/** Tracing of an agent. */
export interface Tracing {
  readonly tracer: Tracer
  readonly onCommit: NonNullable<StoreOptions['onCommit']>
  readonly metrics: GaugeSources
  /** Sends the remaining spans. */
  close(): Promise<void>
}

/** Starts tracing; undefined if no collector is configured, so nothing is traced. */
export function openTracing(
  config: Pick<AgentConfig, 'tracing' | 'name' | 'region'>,
  { log, version }: { readonly log: Logger; readonly version: string },
): Tracing | undefined {
  const { endpoint, authorization, samplePercent } = config.tracing
  if (endpoint === undefined) return undefined
  const exporter = new SpanExporter({
    url: endpoint,
    headers: authorization === undefined ? {} : { authorization: authorization.reveal() },
    resource: {
      serviceName: 'reeve',
      serviceVersion: version,
      instance: config.name,
      region: config.region,
    },
    clock: systemClock,
    log,
  })
  const tracer = new SpanRecorder({
    clock: systemClock,
    random: systemRandom,
    sampleRatio: samplePercent / 100,
    onEnd: (span) => exporter.add(span),
  })
  return {
    tracer,
    onCommit: traceCommits(tracer),
    metrics: tracingMetrics(exporter),
    close: async () => await exporter.close(),
  }
}

/** Returns the metrics of an agent that sends traces. */
export function tracingMetrics(exporter: Pick<SpanExporter, 'exported' | 'dropped'>): GaugeSources {
  return {
    trace_spans_exported_total: {
      help: 'Spans of traces that the collector has accepted.',
      isCounter: true,
      read: () => exporter.exported,
    },
    trace_spans_dropped_total: {
      help: 'Spans of traces that were dropped: too many waited, or the collector rejected them.',
      isCounter: true,
      read: () => exporter.dropped,
    },
  }
}

/**
 * Records a span from applying a commit until it is durable. Commits of requests use the
 * asynchronous context (`active`), commits of loops the synchronous one (`current`), which is set
 * only while a traced evaluation is scheduled.
 */
function traceCommits(tracer: Tracer): Tracing['onCommit'] {
  return ({ index, rows }, { by, durable }) => {
    const parent = by === 'system' ? tracer.current : tracer.active
    if (parent === undefined) return
    for (const { table, key, header } of rows)
      if (header !== undefined && TRACED_TABLES.has(table)) tracer.remember(key, parent)
    const span = tracer.start({
      name: 'commit',
      parent,
      attributes: { 'reeve.index': index, 'reeve.rows': rows.length },
    })
    durable.then(
      () => span.end(),
      (thrown: unknown) => span.end(thrown instanceof Error ? thrown.message : String(thrown)),
    )
  }
}

/** Maximum number of buffered spans; further ones are dropped and counted. */
const BUFFERED_SPANS_MAX = 8_192
const BATCH_MAX = 512
/** A partial batch is sent after this time. */
const BATCH_DELAY_MS = 1_000
const REQUEST_TIMEOUT_MS = 10_000
/** Time limit for sending the remaining spans at the end of the program. */
const CLOSE_TIMEOUT_MS = 3_000
const RETRY_MS_MIN = 1_000
const RETRY_MS_MAX = 60_000
/** Response statuses that OTLP defines as retryable; others reject the spans. */
const RETRYABLE = new Set([429, 502, 503, 504])
const RESPONSE_CHARS_MAX = 64 * 1024

interface SpanExporterOptions {
  /** The URL that spans are sent to, such as `http://127.0.0.1:4318/v1/traces`. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly resource: TraceResource
  readonly clock: Clock
  readonly log: {
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
  }
  readonly fetch?: typeof globalThis.fetch
}

/**
 * Sends spans to a collector (OTLP over HTTP, JSON). Only the end of the program waits for it, at
 * most `STOP_MS_MAX`.
 */
export class SpanExporter {
  readonly #options: SpanExporterOptions
  #buffer: EndedSpan[] = []
  #sending: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined
  readonly #stopping = new AbortController()
  #retryMs = 0
  /** Whether the log says that spans are not accepted. */
  #isFailing = false
  #isClosed = false
  #exported = 0
  #dropped = 0

  constructor(options: SpanExporterOptions) {
    this.#options = options
  }

  /** Spans that the collector has accepted. */
  get exported(): number {
    return this.#exported
  }

  /** Spans that were not sent because too many waited, or that the collector has rejected. */
  get dropped(): number {
    return this.#dropped
  }

  add(span: EndedSpan): void {
    if (this.#isClosed || this.#buffer.length >= BUFFERED_SPANS_MAX) {
      this.#dropped += 1
      return
    }
    this.#buffer.push(span)
    if (this.#retryMs > 0) return
    if (this.#buffer.length >= BATCH_MAX) this.#send()
    else this.#sendAfter(BATCH_DELAY_MS)
  }

  /** Resolves when no request is in progress. */
  async idle(): Promise<void> {
    while (this.#sending !== undefined) await this.#sending
  }

  /** Sends the buffered spans once more, within `STOP_MS_MAX`, and drops the rest. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelTimer?.()
    const { signal } = this.#stopping
    const cancelStop = this.#options.clock.after(CLOSE_TIMEOUT_MS, () => this.#stopping.abort())
    await this.idle()
    this.#retryMs = 0
    while (this.#buffer.length > 0 && this.#retryMs === 0 && !signal.aborted) {
      this.#send()
      await this.idle()
    }
    cancelStop()
    this.#dropped += this.#buffer.length
    this.#buffer = []
  }

  #sendAfter(delayMs: number): void {
    this.#cancelTimer ??= this.#options.clock.after(delayMs, () => this.#send())
  }

  #send(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    if (this.#sending !== undefined || this.#buffer.length === 0) return
    const batch = this.#buffer.splice(0, BATCH_MAX)
    this.#sending = this.#deliver(batch).finally(() => {
      this.#sending = undefined
      this.#scheduleNext()
    })
  }

  #scheduleNext(): void {
    if (this.#isClosed || this.#buffer.length === 0) return
    if (this.#retryMs > 0) this.#sendAfter(this.#retryMs)
    else if (this.#buffer.length >= BATCH_MAX) this.#send()
    else this.#sendAfter(BATCH_DELAY_MS)
  }

  /** Never rejects. */
  async #deliver(batch: readonly EndedSpan[]): Promise<void> {
    try {
      const rejected = await this.#post(batch)
      this.#retryMs = 0
      if (rejected === undefined) this.#dropped += batch.length
      else this.#accepted(batch.length, rejected)
    } catch (thrown) {
      this.#requeue(batch, thrown)
    }
  }

  /** Returns how many spans were rejected; undefined if the whole request was. */
  async #post(batch: readonly EndedSpan[]): Promise<number | undefined> {
    const { url, headers, resource, fetch = globalThis.fetch } = this.#options
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(exportRequest(resource, batch)),
      redirect: 'error',
      signal: AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
    })
    const text = response.body === null ? '' : await readTextUpTo(response.body, RESPONSE_CHARS_MAX)
    if (response.ok) return rejectedSpans(text)
    if (RETRYABLE.has(response.status)) throw new Error(`HTTP status ${response.status}`)
    this.#logFailure(
      { status: response.status, spans: batch.length },
      'trace collector rejected spans',
    )
    return undefined
  }

  #accepted(count: number, rejected: number): void {
    this.#exported += count - rejected
    this.#dropped += rejected
    if (!this.#isFailing) return
    this.#isFailing = false
    const { log, url } = this.#options
    log.info({ url, dropped: this.#dropped }, 'trace collector accepts spans again')
  }

  /** Logs only the first failure until spans are accepted again. */
  #logFailure(fields: object, message: string): void {
    if (this.#isFailing) return
    this.#isFailing = true
    const { log, url } = this.#options
    log.warn({ url, ...fields }, message)
  }

  /** Puts a failed batch back at the front of the buffer, as far as it fits. */
  #requeue(batch: readonly EndedSpan[], thrown: unknown): void {
    const reason = errorMessage(thrown)
    this.#logFailure({ reason }, 'trace collector is unavailable; spans are buffered')
    this.#retryMs = Math.min(RETRY_MS_MAX, Math.max(RETRY_MS_MIN, this.#retryMs * 2))
    const room = BUFFERED_SPANS_MAX - this.#buffer.length
    this.#dropped += Math.max(0, batch.length - room)
    this.#buffer = [...batch.slice(0, room), ...this.#buffer]
  }
}

/** The number of rejected spans in a partially accepted batch. */
function rejectedSpans(text: string): number {
  try {
    const value: unknown = JSON.parse(text)
    const partial = memberOf(value, 'partialSuccess')
    const rejected = Number(memberOf(partial, 'rejectedSpans') ?? 0)
    return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0
  } catch {
    // Collectors that accept everything may answer with an empty body.
    return 0
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/** The resource attributes of all spans of this process. */
interface TraceResource {
  readonly serviceName: string
  readonly serviceVersion: string
  /** The name of the agent. */
  readonly instance: string
  readonly region: string
}

/** Span kinds as OTLP numbers. */
const KINDS: Readonly<Record<SpanKind, number>> = {
  internal: 1,
  server: 2,
  client: 3,
  producer: 4,
  consumer: 5,
}
const STATUS_ERROR = 2
const NS_PER_MS = 1_000_000

/** Encodes spans as OTLP JSON (ExportTraceServiceRequest). */
function exportRequest(resource: TraceResource, spans: readonly EndedSpan[]): object {
  const { serviceName, serviceVersion, instance, region } = resource
  return {
    resourceSpans: [
      {
        resource: {
          attributes: [
            attribute('service.name', serviceName),
            attribute('service.version', serviceVersion),
            attribute('service.instance.id', instance),
            attribute('reeve.region', region),
          ],
        },
        scopeSpans: [
          { scope: { name: 'reeve', version: serviceVersion }, spans: spans.map(exportedSpan) },
        ],
      },
    ],
  }
}

function exportedSpan(span: EndedSpan): object {
  const { context, parentSpanId, name, kind, attributes, error } = span
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    flags: 1,
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(span.startMs),
    endTimeUnixNano: nanoseconds(span.endMs),
    attributes: [...attributes].map(([key, value]) => attribute(key, value)),
    status: error === undefined ? {} : { code: STATUS_ERROR, message: error },
  }
}

/** Returns nanoseconds as decimal text, because a double cannot represent them exactly. */
function nanoseconds(ms: number): string {
  const whole = Math.trunc(ms)
  const rest = Math.round((ms - whole) * NS_PER_MS)
  return String(BigInt(whole) * BigInt(NS_PER_MS) + BigInt(rest))
}

function attribute(key: string, value: SpanAttribute): object {
  if (typeof value === 'string') return { key, value: { stringValue: value } }
  if (typeof value === 'boolean') return { key, value: { boolValue: value } }
  return Number.isSafeInteger(value)
    ? { key, value: { intValue: String(value) } }
    : { key, value: { doubleValue: value } }
}
