import type { MetricGauge, MetricsReport } from '@reeve/contract'
import type { FastifyReply } from 'fastify'
import { Counter, Gauge, Registry, type Metric } from 'prom-client'
import type { Clock } from '@reeve/kit/clock.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { METRIC_PREFIX as PREFIX, processMetrics } from './process-metrics.ts'
import { RequestTimes } from './request-times.ts'

/** Values that are read when somebody asks, so that counting them costs nothing in between. */
export interface MetricSources {
  readonly [name: string]: {
    readonly help: string
    readonly read: () => number
    /** It only grows; a gauge unless given. */
    readonly isCounter?: boolean
  }
}

/** Several values of one kind, told apart by a label. Those that are not finite are left out. */
export interface LabelledSources {
  readonly [name: string]: {
    readonly help: string
    readonly label: string
    readonly read: () => Promise<ReadonlyMap<string, number>>
  }
}

interface MetricsText {
  readonly text: string
  readonly contentType: string
}

const RENDERED_MS = 1_000

/** What the program counts about itself, in two formats. */
export class Metrics {
  readonly #clock: Clock
  readonly #registry = new Registry()
  readonly #requests: RequestTimes
  #rendered: { readonly atMs: number; readonly text: Promise<MetricsText> } | undefined

  constructor(clock: Clock, sources: MetricSources, labelled: LabelledSources = {}) {
    this.#clock = clock
    this.#requests = new RequestTimes(`${PREFIX}http_request_seconds`, clock.nowMs())
    // From now on, not from the first time that somebody asks.
    processMetrics()
    for (const [name, source] of Object.entries(sources))
      this.#registry.registerMetric(metricOf(`${PREFIX}${name}`, source))
    for (const [name, source] of Object.entries(labelled))
      this.#registry.registerMetric(
        new Gauge({
          name: `${PREFIX}${name}`,
          help: source.help,
          labelNames: [source.label],
          registers: [],
          async collect() {
            for (const [label, value] of await source.read())
              if (Number.isFinite(value)) this.set({ [source.label]: label }, value)
          },
        }),
      )
  }

  /** What is told of the ends of one route's requests. */
  observerOf(route: string): (reply: FastifyReply) => void {
    const note = this.#requests.ofRoute(route)
    return (reply) =>
      note({
        method: reply.request.method,
        status: reply.statusCode,
        seconds: reply.elapsedTime / 1000,
        nowMs: this.#clock.nowMs(),
      })
  }

  /**
   * Prometheus' text format. Rendered at most once in a second: it is more than a megabyte, and
   * anybody may ask for it.
   */
  text(): Promise<MetricsText> {
    const nowMs = this.#clock.nowMs()
    if (this.#rendered === undefined || nowMs - this.#rendered.atMs >= RENDERED_MS)
      this.#rendered = { atMs: nowMs, text: this.#renderText() }
    return this.#rendered.text
  }

  async #renderText(): Promise<MetricsText> {
    const all = this.#all()
    const text = `${this.#requests.text()}\n${await all.metrics()}`
    return { text, contentType: all.contentType }
  }

  /** The JSON form. */
  async report(): Promise<MetricsReport> {
    const { startMs, samples } = this.#requests.read(this.#clock.nowMs())
    const metrics = await this.#all().getMetricsAsJSON()
    const gauges: MetricGauge[] = metrics
      .filter((metric) => String(metric.type) === 'gauge')
      .flatMap((metric) =>
        // Some have no value yet, and JSON has no word for that.
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

  #all(): Registry {
    return Registry.merge([this.#registry, processMetrics()])
  }
}

function metricOf(name: string, { help, read, isCounter }: MetricSources[string]): Metric {
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

function textLabels(labels: object): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]))
}
