import { collectDefaultMetrics, Registry } from 'prom-client'

/** Prefix of metric names. */
export const METRIC_PREFIX = 'service_'

let registry: Registry | undefined

/**
 * Returns the metrics of the process: memory, event loop, garbage collection. One registry per
 * process: its garbage collection observer is never removed and retains the registry.
 */
export function processMetrics(): Registry {
  if (registry !== undefined) return registry
  registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: METRIC_PREFIX })
  return registry
}
