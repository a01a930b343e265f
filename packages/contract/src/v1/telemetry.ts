import { Type } from 'typebox'
import { routes } from '../route.ts'
import { unreplicatedRead } from './define.ts'
import { Named, MapOf, type Infer } from '../schema.ts'
import { jsonResponse } from './shared-schemas.ts'
import { TextParameter } from './query.ts'

const Labels = MapOf(Type.String())

export const MetricGauge = Named('MetricGauge', {
  Name: Type.String(),
  Value: Type.Number(),
  Labels,
})
export type MetricGauge = Infer<typeof MetricGauge>

export const MetricPoint = Named('MetricPoint', {
  Name: Type.String(),
  Points: Type.Array(Type.Number()),
})

export const MetricSample = Named('MetricSample', {
  Name: Type.String(),
  Count: Type.Integer(),
  Rate: Type.Number(),
  Sum: Type.Number(),
  Min: Type.Number(),
  Max: Type.Number(),
  Mean: Type.Number(),
  Stddev: Type.Number(),
  Labels,
})
export type MetricSample = Infer<typeof MetricSample>

export const MetricsReport = Type.Object(
  {
    Timestamp: Type.String({ description: 'Begin of the interval.' }),
    Gauges: Type.Array(MetricGauge),
    Points: Type.Array(MetricPoint),
    Counters: Type.Array(MetricSample),
    Samples: Type.Array(MetricSample),
  },
  { $id: 'MetricsReport', description: 'Metrics of the agent for the latest interval.' },
)
export type MetricsReport = Infer<typeof MetricsReport>

export const telemetryRoutes = routes('Operator', {
  readMetrics: unreplicatedRead('/metrics', {
    summary: 'Read the metrics of the agent that answers.',
    answeredBy: 'self',
    query: { format: TextParameter('`prometheus` for the text format of that name.') },
    returns: jsonResponse(MetricsReport, 'The metrics.'),
    errors: { 415: '`Prometheus is not enabled`' },
    needs: 'none',
  }),
})
