import type { MetricGauge, MetricSample, MetricsReport } from '@reeve/contract'
import type { FastifyReply } from 'fastify'
import { Counter, Gauge, Registry, type Metric, collectDefaultMetrics } from 'prom-client'
import type { Clock } from '@reeve/kit/clock.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'

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

/** A completed request. */
interface RequestObservation {
  readonly method: string
  readonly status: number
  readonly seconds: number
  readonly nowMs: number
}

/** Upper bounds of the histogram's buckets. */
const BUCKET_BOUNDS_SECONDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5,
] as const

interface DurationSeries {
  readonly labels: Readonly<Record<'route' | 'method' | 'status', string>>
  /** Requests per bucket, not cumulative; the last bucket is unbounded. */
  readonly counts: Float64Array
  sum: number
  readonly sample: SampleSeries
}

/**
 * Request durations by route, method and status. Never by path: an ID in a label would create a
 * series for each job. Updated for every request, so a series is found by two numbers instead of
 * the text of its labels, which took a twentieth of the time of a small response.
 */
export class RequestDurationHistogram {
  readonly #name: string
  readonly #series: DurationSeries[] = []
  readonly #samples: IntervalSamples

  constructor(name: string, nowMs: number) {
    this.#name = name
    this.#samples = new IntervalSamples(nowMs)
  }

  /** Returns the function that records the completed requests of a route. */
  observerFor(route: string): (end: RequestObservation) => void {
    const byMethod = new Map<string, Map<number, DurationSeries>>()
    return ({ method, status, seconds, nowMs }) => {
      let byStatus = byMethod.get(method)
      if (byStatus === undefined) byMethod.set(method, (byStatus = new Map()))
      let series = byStatus.get(status)
      if (series === undefined) {
        series = this.#newSeries({ route, method, status: String(status) })
        byStatus.set(status, series)
      }
      const bucket = bucketOf(seconds)
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
      series.sum += seconds
      series.sample.add(seconds, nowMs)
    }
  }

  /** Returns the sums of the interval. */
  read(nowMs: number): { readonly startMs: number; readonly samples: readonly MetricSample[] } {
    return this.#samples.read(nowMs)
  }

  /** Returns the histogram in Prometheus' text format. */
  text(): string {
    const lines = [
      `# HELP ${this.#name} Time from a request to its answer, blocking queries included.`,
      `# TYPE ${this.#name} histogram`,
    ]
    for (const series of this.#series) lines.push(...linesOf(this.#name, series))
    return `${lines.join('\n')}\n`
  }

  #newSeries(labels: DurationSeries['labels']): DurationSeries {
    const sample = this.#samples.series(this.#name, labels)
    const series = {
      labels,
      counts: new Float64Array(BUCKET_BOUNDS_SECONDS.length + 1),
      sum: 0,
      sample,
    }
    this.#series.push(series)
    return series
  }
}

function bucketOf(seconds: number): number {
  for (let at = 0; at < BUCKET_BOUNDS_SECONDS.length; at++)
    if (seconds <= (BUCKET_BOUNDS_SECONDS[at] ?? 0)) return at
  return BUCKET_BOUNDS_SECONDS.length
}

/** Writes a series. Buckets are cumulative in the text format. */
function linesOf(name: string, { labels, counts, sum }: DurationSeries): string[] {
  const text = Object.entries(labels)
    .map(([label, value]) => `${label}="${value}"`)
    .join(',')
  let count = 0
  const buckets = [...BUCKET_BOUNDS_SECONDS, '+Inf'].map((bound, at) => {
    count += counts[at] ?? 0
    return `${name}_bucket{le="${bound}",${text}} ${count}`
  })
  return [...buckets, `${name}_sum{${text}} ${sum}`, `${name}_count{${text}} ${count}`]
}

/** Length of the intervals over which samples are aggregated. */
const INTERVAL_MS = 10_000

interface SampleStats {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  count: number
  sum: number
  sumOfSquares: number
  min: number
  max: number
}

/** The samples of one name and set of labels. */
interface SampleSeries {
  add(value: number, nowMs: number): void
}

/** Samples of the current interval. Reads return the last complete interval, if there is one. */
class IntervalSamples {
  #startMs: number
  #current: SampleStats[] = []
  #previous: { readonly startMs: number; readonly tallies: readonly SampleStats[] } | undefined

  constructor(nowMs: number) {
    this.#startMs = nowMs
  }

  /** Returns the series of a name and labels; to be called once for each. */
  series(name: string, labels: SampleStats['labels']): SampleSeries {
    let tally: SampleStats | undefined
    let interval: readonly SampleStats[] | undefined
    return {
      add: (value, nowMs) => {
        this.#startIntervalIfDue(nowMs)
        if (tally === undefined || interval !== this.#current) {
          tally = { name, labels, count: 0, sum: 0, sumOfSquares: 0, min: value, max: value }
          interval = this.#current
          this.#current.push(tally)
        }
        tally.count++
        tally.sum += value
        tally.sumOfSquares += value * value
        if (value < tally.min) tally.min = value
        if (value > tally.max) tally.max = value
      },
    }
  }

  read(nowMs: number): { readonly startMs: number; readonly samples: readonly MetricSample[] } {
    this.#startIntervalIfDue(nowMs)
    const interval = this.#previous ?? {
      startMs: this.#startMs,
      tallies: this.#current,
    }
    return { startMs: interval.startMs, samples: interval.tallies.map(toSample) }
  }

  #startIntervalIfDue(nowMs: number): void {
    if (nowMs - this.#startMs < INTERVAL_MS) return
    this.#previous = { startMs: this.#startMs, tallies: this.#current }
    this.#current = []
    this.#startMs = nowMs
  }
}

function toSample(tally: SampleStats): MetricSample {
  const mean = tally.sum / tally.count
  const variance = Math.max(0, tally.sumOfSquares / tally.count - mean * mean)
  return {
    Name: tally.name,
    Count: tally.count,
    Rate: tally.sum / (INTERVAL_MS / 1000),
    Sum: tally.sum,
    Min: tally.min,
    Max: tally.max,
    Mean: mean,
    Stddev: Math.sqrt(variance),
    Labels: tally.labels,
  }
}
