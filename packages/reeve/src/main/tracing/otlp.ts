import type { SpanAttribute, SpanKind } from '@reeve/kit/trace.ts'
import type { EndedSpan } from './tracer.ts'

/** The resource attributes of all spans of this process. */
export interface TraceResource {
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
export function exportRequest(resource: TraceResource, spans: readonly EndedSpan[]): object {
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
