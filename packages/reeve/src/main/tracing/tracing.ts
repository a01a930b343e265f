import type { Tracer } from '@reeve/kit/trace.ts'
import type { GaugeSources } from '../../http/index.ts'
import type { StoreOptions } from '../../state/index.ts'
import type { AgentConfig } from '../config/agent-config.ts'
import type { Logger } from '../log.ts'
import { systemClock, systemRandom } from '../system.ts'
import { SpanExporter } from './span-exporter.ts'
import { SpanRecorder } from './tracer.ts'

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
