import * as t from './shared-schemas.ts'
import { unreplicatedRead, routes } from './define.ts'

const Labels = t.MapOf(t.String())

export const MetricGauge = t.Named('MetricGauge', { Name: t.String(), Value: t.Number(), Labels })
export type MetricGauge = t.Infer<typeof MetricGauge>

export const MetricPoint = t.Named('MetricPoint', { Name: t.String(), Points: t.Array(t.Number()) })

export const MetricSample = t.Named('MetricSample', {
  Name: t.String(),
  Count: t.Integer(),
  Rate: t.Number(),
  Sum: t.Number(),
  Min: t.Number(),
  Max: t.Number(),
  Mean: t.Number(),
  Stddev: t.Number(),
  Labels,
})
export type MetricSample = t.Infer<typeof MetricSample>

export const MetricsReport = t.Object(
  {
    Timestamp: t.String({ description: 'Begin of the interval.' }),
    Gauges: t.Array(MetricGauge),
    Points: t.Array(MetricPoint),
    Counters: t.Array(MetricSample),
    Samples: t.Array(MetricSample),
  },
  { $id: 'MetricsReport', description: 'Metrics of the agent for the latest interval.' },
)
export type MetricsReport = t.Infer<typeof MetricsReport>

export const telemetryRoutes = routes('Operator', {
  readMetrics: unreplicatedRead('/metrics', {
    summary: 'Read the metrics of the agent that answers.',
    answeredBy: 'self',
    query: { format: t.TextParameter('`prometheus` for the text format of that name.') },
    returns: t.jsonResponse(MetricsReport, 'The metrics.'),
    errors: { 415: '`Prometheus is not enabled`' },
    needs: 'none',
  }),
})
