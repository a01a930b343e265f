import { collectDefaultMetrics, Registry } from 'prom-client'

/** Prefix of metric names. */
export const METRIC_PREFIX = 'service_'

/** Sums of gauges that have a label, under names that only counters may have. */
const MISNAMED = [
  'nodejs_active_resources_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
]

let registry: Registry | undefined

/**
 * Returns the metrics of the process: memory, event loop, garbage collection. One registry per
 * process: its garbage collection observer is never removed and retains the registry.
 */
export function processMetrics(): Registry {
  if (registry !== undefined) return registry
  registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: METRIC_PREFIX })
  for (const name of MISNAMED) registry.removeSingleMetric(`${METRIC_PREFIX}${name}`)
  return registry
}
