/** A page in Chromium and its main thread costs. */
import type { BrowserContext, CDPSession, Page } from 'playwright-core'

const WAIT_MS_MAX = 60_000

/** Measurements of a page since its first byte or since `mark`. */
export interface Measured {
  /** Time to first content. */
  readonly firstMs: number
  /** Main thread time until then, and its longest task. */
  readonly taskMs: number
  readonly longestMs: number
  /** The slowest API request, and the bytes of all requests. */
  readonly requestMs: number
  readonly bytes: number
}

/** Expressions are strings evaluated in the page: this process has no `document`. */
export class MeasuredPage {
  readonly page: Page
  readonly #devtools: CDPSession
  #taskMs = 0

  private constructor(page: Page, devtools: CDPSession) {
    this.page = page
    this.#devtools = devtools
  }

  static async open(context: BrowserContext): Promise<MeasuredPage> {
    const page = await context.newPage()
    const devtools = await context.newCDPSession(page)
    // Thread time instead of wall time, because of other load on the machine.
    await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
    await page.addInitScript(WATCH)
    return new MeasuredPage(page, devtools)
  }

  /** Loads an address; `ready` becomes true when there is content. */
  async load(url: string, ready: string): Promise<Measured> {
    await this.mark()
    await this.page.goto(url, { waitUntil: 'commit' })
    return await this.#until(ready, 0)
  }

  /** Navigates within the page, as a link does. */
  async follow(href: string, ready: string): Promise<Measured> {
    await this.mark()
    const fromMs = Number(await this.page.evaluate(goTo(href)))
    return await this.#until(ready, fromMs)
  }

  /** Waits until the expression is true and its frame was painted; returns the page's time. */
  async until(expression: string): Promise<number> {
    const seen = this.page.evaluate(frameAfter(expression))
    const late = new Promise<never>((_, reject) => {
      setTimeout(
        reject,
        WAIT_MS_MAX,
        new Error(`never true on ${this.page.url()}: ${expression}`),
      ).unref()
    })
    return Number(await Promise.race([seen, late]))
  }

  /** Starts a new measurement. */
  async mark(): Promise<void> {
    await this.page.evaluate(
      'self.bench && (bench.longest = 0, performance.clearResourceTimings())',
    )
    this.#taskMs = await this.#metric('TaskDuration')
  }

  /** The costs since `mark`. */
  async cost(): Promise<Pick<Measured, 'taskMs' | 'longestMs'>> {
    const taskMs = ((await this.#metric('TaskDuration')) - this.#taskMs) * 1_000
    return { taskMs, longestMs: Number(await this.page.evaluate('bench.longest')) }
  }

  /** Bytes of live objects. */
  async heap(): Promise<number> {
    await this.#devtools.send('HeapProfiler.collectGarbage')
    return await this.#metric('JSHeapUsedSize')
  }

  async close(): Promise<void> {
    await this.page.close()
  }

  async #until(ready: string, fromMs: number): Promise<Measured> {
    const firstMs = (await this.until(ready)) - fromMs
    const requests = await this.page.evaluate(REQUESTS)
    // Proof: the expression returns these two numbers.
    const [requestMs, bytes] = requests as [number, number]
    return { firstMs, ...(await this.cost()), requestMs, bytes }
  }

  async #metric(name: string): Promise<number> {
    const { metrics } = await this.#devtools.send('Performance.getMetrics')
    return metrics.find((one) => one.name === name)?.value ?? 0
  }
}

const WATCH = `
self.bench = { longest: 0 }
performance.setResourceTimingBufferSize(5000)
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) bench.longest = Math.max(bench.longest, duration)
}).observe({ type: 'longtask', buffered: true })
`

const REQUESTS = `(() => {
  const calls = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/v1/'))
  return [Math.max(0, ...calls.map(({ duration }) => duration)),
    calls.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)]
})()`

/** Uses `evaluate`, because the page's policy forbids code from strings. */
function frameAfter(expression: string): string {
  return `new Promise((resolve) => {
    const holds = () => { try { return ${expression} } catch { return false } }
    const drawn = () => requestAnimationFrame(() => resolve(performance.now()))
    const look = () => (holds() ? drawn() : requestAnimationFrame(look))
    look()
  })`
}

function goTo(href: string): string {
  return `(() => {
    const fromMs = performance.now()
    history.pushState(null, '', ${JSON.stringify(href)})
    dispatchEvent(new PopStateEvent('popstate'))
    return fromMs
  })()`
}
