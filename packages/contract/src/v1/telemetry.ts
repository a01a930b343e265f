import { Type } from 'typebox'
import { routes } from '../route.ts'
import { ask } from './define.ts'
import { MapOf, type Shape } from '../shape.ts'
import { ok } from './answer.ts'
import { Text } from './query.ts'

const Labels = MapOf(Type.String())

export const MetricGauge = Type.Object(
  { Name: Type.String(), Value: Type.Number(), Labels },
  { $id: 'MetricGauge' },
)
export type MetricGauge = Shape<typeof MetricGauge>

export const MetricPoint = Type.Object(
  { Name: Type.String(), Points: Type.Array(Type.Number()) },
  { $id: 'MetricPoint' },
)
export type MetricPoint = Shape<typeof MetricPoint>

export const MetricSample = Type.Object(
  {
    Name: Type.String(),
    Count: Type.Integer(),
    Rate: Type.Number(),
    Sum: Type.Number(),
    Min: Type.Number(),
    Max: Type.Number(),
    Mean: Type.Number(),
    Stddev: Type.Number(),
    Labels,
  },
  { $id: 'MetricSample' },
)
export type MetricSample = Shape<typeof MetricSample>

/** Reference §8.8. */
export const MetricsReport = Type.Object(
  {
    Timestamp: Type.String({ description: 'Begin of the interval.' }),
    Gauges: Type.Array(MetricGauge),
    Points: Type.Array(MetricPoint),
    Counters: Type.Array(MetricSample),
    Samples: Type.Array(MetricSample),
  },
  { $id: 'MetricsReport', description: 'What the agent counted in the latest interval.' },
)
export type MetricsReport = Shape<typeof MetricsReport>

export const telemetryRoutes = routes('Operator', {
  readMetrics: ask('/metrics', {
    summary: 'Read the metrics of the agent that answers.',
    answeredBy: 'self',
    query: { format: Text('`prometheus` for the text format of that name.') },
    returns: ok(MetricsReport, 'The metrics.'),
    errors: { 415: '`Prometheus is not enabled`' },
    needs: 'none',
  }),
})
