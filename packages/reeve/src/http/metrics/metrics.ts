import type { MetricGauge, MetricsReport } from '@reeve/contract'
import type { FastifyReply } from 'fastify'
import { Gauge, Histogram, Registry } from 'prom-client'
import type { Clock } from '../../kit/clock.ts'
import { isoFromMs } from '../../kit/duration.ts'
import { IntervalSamples } from './interval-samples.ts'
import { METRIC_PREFIX as PREFIX, processMetrics } from './process-metrics.ts'

/** Values that are read when somebody asks, so that counting them costs nothing in between. */
export interface MetricSources {
  readonly [name: string]: { readonly help: string; readonly read: () => number }
}

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]

/** What the program counts about itself, in two formats. */
export class Metrics {
  readonly #clock: Clock
  readonly #registry = new Registry()
  readonly #requests: Histogram<'route' | 'method' | 'status'>
  readonly #samples: IntervalSamples

  constructor(clock: Clock, sources: MetricSources) {
    this.#clock = clock
    this.#samples = new IntervalSamples(clock.nowMs())
    // From now on, not from the first time that somebody asks.
    processMetrics()
    this.#requests = new Histogram({
      name: `${PREFIX}http_request_seconds`,
      help: 'Time from a request to its answer, blocking queries included.',
      labelNames: ['route', 'method', 'status'],
      buckets: SECONDS,
      registers: [this.#registry],
    })
    for (const [name, source] of Object.entries(sources))
      this.#registry.registerMetric(
        new Gauge({
          name: `${PREFIX}${name}`,
          help: source.help,
          registers: [],
          collect() {
            this.set(source.read())
          },
        }),
      )
  }

  /** By route, never by path: an id in a label would make one series per job. */
  observe(route: string, reply: FastifyReply): void {
    const labels = { route, method: reply.request.method, status: String(reply.statusCode) }
    const seconds = reply.elapsedTime / 1000
    this.#requests.observe(labels, seconds)
    this.#samples.add({
      name: `${PREFIX}http_request_seconds`,
      labels,
      value: seconds,
      nowMs: this.#clock.nowMs(),
    })
  }

  /** Prometheus' text format. */
  async text(): Promise<{ readonly text: string; readonly contentType: string }> {
    const all = this.#all()
    return { text: await all.metrics(), contentType: all.contentType }
  }

  /** Reference §8.8: the JSON form. */
  async report(): Promise<MetricsReport> {
    const { startMs, samples } = this.#samples.read(this.#clock.nowMs())
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

function textLabels(labels: object): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]))
}
