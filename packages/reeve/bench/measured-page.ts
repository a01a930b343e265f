/** A page in a real Chromium, and what it costs its main thread. */
import type { BrowserContext, CDPSession, Page } from 'playwright-core'

const WAIT_MS_MAX = 60_000

/** What was measured of a page, from its first byte or since `mark`. */
export interface Measured {
  /** Until its first content was on the screen. */
  readonly firstMs: number
  /** Time of the main thread until then, and the longest it did not let go. */
  readonly taskMs: number
  readonly longestMs: number
  /** The slowest request to the API, and bytes of all of them. */
  readonly requestMs: number
  readonly bytes: number
}

/** Expressions are of the page's world: texts, because this one has no `document`. */
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
    // Time of the thread, not of the clock: the machine has other things to do.
    await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
    await page.addInitScript(WATCH)
    return new MeasuredPage(page, devtools)
  }

  /** Loads an address as one who types it; `ready` is true once there is something to see. */
  async load(url: string, ready: string): Promise<Measured> {
    await this.mark()
    await this.page.goto(url, { waitUntil: 'commit' })
    return await this.#until(ready, 0)
  }

  /** Goes there within the running page, as a link does. */
  async follow(href: string, ready: string): Promise<Measured> {
    await this.mark()
    const fromMs = Number(await this.page.evaluate(goTo(href)))
    return await this.#until(ready, fromMs)
  }

  /** Waits until the expression holds and its frame was drawn; gives when, on the page's clock. */
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

  /** Begins to measure anew. */
  async mark(): Promise<void> {
    await this.page.evaluate(
      'self.bench && (bench.longest = 0, performance.clearResourceTimings())',
    )
    this.#taskMs = await this.#metric('TaskDuration')
  }

  /** What it cost since `mark`. */
  async cost(): Promise<Pick<Measured, 'taskMs' | 'longestMs'>> {
    const taskMs = ((await this.#metric('TaskDuration')) - this.#taskMs) * 1_000
    return { taskMs, longestMs: Number(await this.page.evaluate('bench.longest')) }
  }

  /** Bytes of living objects. */
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
    // The expression below gives these two numbers.
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

/** By evaluation, because pages allow no code that is made from text. */
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
