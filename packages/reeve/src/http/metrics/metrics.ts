import type { MetricGauge, MetricsReport } from '@reeve/contract'
import type { FastifyReply } from 'fastify'
import { Counter, Gauge, Registry, type Metric, collectDefaultMetrics } from 'prom-client'
import type { Clock } from '@reeve/kit/clock.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { RequestDurationHistogram } from './request-durations.ts'

/** Metrics whose values are read when they are scraped. */
export interface GaugeSources {
  readonly [name: string]: {
    readonly help: string
    readonly read: () => number
    /** A counter; a gauge unless given. */
    readonly isCounter?: boolean
  }
}

/** Metrics with one label. Values that are not finite are omitted. */
export interface LabelledSources {
  readonly [name: string]: {
    readonly help: string
    readonly label: string
    readonly read: () => Promise<ReadonlyMap<string, number>>
    /** It only grows; a gauge unless given. */
    readonly isCounter?: boolean
  }
}

interface MetricsText {
  readonly text: string
  readonly contentType: string
}

const CACHE_MS = 1_000
/** Metrics whose values the JSON form lists one by one. */
const SINGLE_VALUE_TYPES = new Set(['gauge', 'counter'])

/** Metrics of the program, in two formats. */
export class Metrics {
  readonly #clock: Clock
  readonly #registry = new Registry()
  readonly #requests: RequestDurationHistogram
  #rendered: { readonly atMs: number; readonly text: Promise<MetricsText> } | undefined

  constructor(clock: Clock, sources: GaugeSources, labelled: LabelledSources = {}) {
    this.#clock = clock
    this.#requests = new RequestDurationHistogram(
      `${METRIC_PREFIX}http_request_seconds`,
      clock.nowMs(),
    )
    // Starts process metrics now, not with the first scrape.
    processMetrics()
    for (const [name, source] of Object.entries(sources))
      this.#registry.registerMetric(metricOf(`${METRIC_PREFIX}${name}`, source))
    for (const [name, source] of Object.entries(labelled))
      this.#registry.registerMetric(labelledMetricOf(`${METRIC_PREFIX}${name}`, source))
  }

  /** Returns the function that records the completed requests of a route. */
  observerOf(route: string): (reply: FastifyReply) => void {
    const record = this.#requests.observerFor(route)
    return (reply) =>
      record({
        method: reply.request.method,
        status: reply.statusCode,
        seconds: reply.elapsedTime / 1000,
        nowMs: this.#clock.nowMs(),
      })
  }

  /**
   * Returns the metrics in Prometheus' text format. Rendered at most once a second: the text may
   * exceed a megabyte, and no permission is needed to read it.
   */
  text(): Promise<MetricsText> {
    const nowMs = this.#clock.nowMs()
    if (this.#rendered === undefined || nowMs - this.#rendered.atMs >= CACHE_MS)
      this.#rendered = { atMs: nowMs, text: this.#renderText() }
    return this.#rendered.text
  }

  async #renderText(): Promise<MetricsText> {
    const all = this.#registries()
    const text = `${this.#requests.text()}\n${await all.metrics()}`
    return { text, contentType: all.contentType }
  }

  /** Returns the metrics as JSON. */
  async report(): Promise<MetricsReport> {
    const { startMs, samples } = this.#requests.read(this.#clock.nowMs())
    const metrics = await this.#registries().getMetricsAsJSON()
    const gauges: MetricGauge[] = metrics
      .filter((metric) => SINGLE_VALUE_TYPES.has(String(metric.type)))
      .flatMap((metric) =>
        // JSON cannot represent NaN, the value of metrics without a sample.
        metric.values
          .filter(({ value }) => Number.isFinite(value))
          .map(({ value, labels }) => ({
            Name: metric.name,
            Value: value,
            Labels: textLabels(labels),
          })),
      )
    return {
      Timestamp: isoFromMs(startMs),
      Gauges: gauges,
      Points: [],
      Counters: [],
      Samples: [...samples],
    }
  }

  #registries(): Registry {
    return Registry.merge([this.#registry, processMetrics()])
  }
}

function metricOf(name: string, { help, read, isCounter }: GaugeSources[string]): Metric {
  if (isCounter === true)
    return new Counter({
      name,
      help,
      registers: [],
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  return new Gauge({
    name,
    help,
    registers: [],
    collect() {
      this.set(read())
    },
  })
}

function labelledMetricOf(
  name: string,
  { help, label, read, isCounter }: LabelledSources[string],
): Metric {
  const readFinite = async (): Promise<readonly (readonly [string, number])[]> =>
    [...(await read())].filter(([, value]) => Number.isFinite(value))
  const shared = { name, help, labelNames: [label], registers: [] }
  if (isCounter === true)
    return new Counter({
      ...shared,
      async collect() {
        const values = await readFinite()
        this.reset()
        for (const [one, value] of values) this.inc({ [label]: one }, value)
      },
    })
  return new Gauge({
    ...shared,
    async collect() {
      for (const [one, value] of await readFinite()) this.set({ [label]: one }, value)
    },
  })
}

function textLabels(labels: object): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]))
}

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
function processMetrics(): Registry {
  if (registry !== undefined) return registry
  registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: METRIC_PREFIX })
  for (const name of MISNAMED) registry.removeSingleMetric(`${METRIC_PREFIX}${name}`)
  return registry
}
