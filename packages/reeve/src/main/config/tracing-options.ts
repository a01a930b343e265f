import type { TracingConfig } from './agent-config.ts'
import { constant, option } from './option.ts'
import type { Secret } from './secret.ts'
import { collectorUrl, secret } from './text-kinds.ts'
import { integer } from './value-kinds.ts'

/** Settings of tracing. See docs/how-to/monitor.md. */
export const tracingOptions = {
  tracingEndpoint: option({
    kind: collectorUrl,
    file: ['tracing', 'endpoint'],
    environment: 'REEVE_TRACING_ENDPOINT',
    byDefault: constant(undefined, 'none: nothing is traced'),
    help:
      'The collector that traces are sent to (OTLP over HTTP, JSON). Without a path, ' +
      '`/v1/traces` is added.',
    read: (config) => config.tracing.endpoint,
  }),
  tracingSamplePercent: option({
    kind: integer({ min: 0, max: 100 }),
    file: ['tracing', 'sample_percent'],
    environment: 'REEVE_TRACING_SAMPLE_PERCENT',
    byDefault: constant(100, '`100`'),
    help:
      'Percentage of requests without a `traceparent` header that are traced. Requests with one ' +
      'follow the sampled flag of their client.',
    read: (config) => config.tracing.samplePercent,
  }),
  tracingAuthorization: option({
    kind: secret,
    file: ['tracing', 'authorization'],
    environment: 'REEVE_TRACING_AUTHORIZATION',
    byDefault: constant(undefined, 'none'),
    help: 'The header `Authorization` for the collector, such as `Bearer …`.',
    read: (config) => config.tracing.authorization,
  }),
}

interface TracingSettings {
  readonly tracingEndpoint: string | undefined
  readonly tracingSamplePercent: number
  readonly tracingAuthorization: Secret | undefined
}

export function tracingConfig(settings: TracingSettings): TracingConfig {
  return {
    endpoint: settings.tracingEndpoint,
    samplePercent: settings.tracingSamplePercent,
    authorization: settings.tracingAuthorization,
  }
}
