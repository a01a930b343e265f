import { collectDefaultMetrics, Registry } from 'prom-client'

/** Metric names start with this word. */
export const METRIC_PREFIX = 'service_'

let registry: Registry | undefined

/**
 * What the process says about itself: memory, event loop, garbage collection. One for the process,
 * because it watches the garbage collector until the process ends and so keeps what it belongs to.
 */
export function processMetrics(): Registry {
  if (registry !== undefined) return registry
  registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: METRIC_PREFIX })
  return registry
}
