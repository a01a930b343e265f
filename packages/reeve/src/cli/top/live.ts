import { ApiError, ConnectionError } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { readRecords, toCluster, type Cluster } from './cluster.ts'
import { detailLines } from './details.ts'
import { Doorbell } from './doorbell.ts'
import { firstIndex, measuredOf, namespaceOf } from './asking.ts'
import { FullScreen } from './full-screen.ts'
import { Happenings, TOPICS } from './happenings.ts'
import { HELP } from './help.ts'
import { keysIn } from './keys.ts'
import { Measures } from './measures.ts'
import { BEGINNING, press, type Place } from './navigation.ts'
import { pictureLines } from './picture.ts'

/** Without an event: what machines use changes all the time. */
const REFRESH_MS = 2_000
/** After an event others follow soon; each load waits this many times as long as the last took. */
const REST_FACTOR = 3
const REST_MS_MIN = 200

/** The cluster on the whole screen, until the person leaves it. */
export class LiveTop {
  readonly #invocation: Invocation
  readonly #screen: FullScreen
  readonly #ending = new AbortController()
  readonly #signal: AbortSignal
  readonly #measures = new Measures()
  readonly #happenings = new Happenings()
  readonly #news = new Doorbell()
  #cluster: Cluster | undefined
  #index = 0
  #place: Place = BEGINNING
  #details: readonly string[] = []
  #note = ''

  constructor(invocation: Invocation) {
    this.#signal = AbortSignal.any([invocation.signal, this.#ending.signal])
    this.#invocation = { ...invocation, signal: this.#signal }
    this.#screen = new FullScreen(invocation.host)
  }

  async run(): Promise<number> {
    const { host } = this.#invocation
    // What is wrong with the server or the token is told before the screen is taken.
    await this.#load()
    const stopResizing = host.onResize(() => this.#draw())
    this.#screen.begin()
    try {
      this.#draw()
      await this.#live()
    } finally {
      this.#ending.abort()
      stopResizing()
      this.#screen.end()
      // Whoever waits for more input would keep the process alive.
      host.input.destroy?.()
    }
    return this.#hasLeft ? EXIT_CODES.ok : EXIT_CODES.interrupted
  }

  #hasLeft = false

  async #live(): Promise<void> {
    const loops = [this.#obeyKeys(), this.#followEvents(), this.#keepFresh()]
    const ended = new Promise<void>((resolve) => {
      this.#signal.addEventListener('abort', () => resolve(), { once: true })
    })
    try {
      // A loop that fails ends the others; none of them ends well before the person leaves.
      await Promise.race([ended, ...loops.map((loop) => failureOf(loop))])
    } finally {
      this.#ending.abort()
      for (const loop of loops) loop.catch(() => undefined)
    }
  }

  async #obeyKeys(): Promise<void> {
    const { input } = this.#invocation.host
    // Nobody types: only a signal ends it.
    if (input.isTTY !== true) return
    for await (const chunk of input) {
      for (const key of keysIn(Buffer.from(chunk).toString('utf8'))) {
        if (key === 'quit') return this.#leave()
        const before = this.#place
        this.#place = press(before, key, { ids: this.#ids(), topMax: this.#topMax() })
        if (this.#place.view === 'details' && before.view !== 'details') await this.#open()
        this.#draw()
      }
      if (this.#signal.aborted) return
    }
    // The terminal is gone.
    this.#leave()
  }

  #leave(): void {
    this.#hasLeft = true
    this.#ending.abort()
  }

  async #followEvents(): Promise<void> {
    const { client } = this.#invocation
    const asked = { topics: TOPICS, namespace: namespaceOf(this.#invocation), reconnect: true }
    while (!this.#signal.aborted) {
      const index = firstIndex(this.#index)
      try {
        for await (const line of client.events({ ...asked, index, signal: this.#signal })) {
          this.#happenings.add(line.Events ?? [])
          this.#news.ring()
        }
      } catch (thrown) {
        // A token may be allowed to look and not to follow; then the clock alone refreshes.
        if (thrown instanceof ApiError) return
        // Once it has begun, the stream itself connects again.
        if (!(thrown instanceof ConnectionError)) throw thrown
      }
      await new Doorbell().rung(REFRESH_MS, this.#signal)
    }
  }

  async #keepFresh(): Promise<void> {
    let restMs = 0
    while (!this.#signal.aborted) {
      await this.#news.rung(REFRESH_MS, this.#signal)
      await this.#news.quiet(restMs, this.#signal)
      if (this.#signal.aborted) return
      const { host } = this.#invocation
      const beganMs = host.nowMs()
      try {
        await this.#load()
        if (this.#place.view === 'details') await this.#open()
        this.#note = ''
      } catch (thrown) {
        if (!(thrown instanceof ApiError) && !(thrown instanceof ConnectionError)) throw thrown
        this.#note = `Trying again: ${thrown.message}`
      }
      restMs = Math.max(REST_MS_MIN, (host.nowMs() - beganMs) * REST_FACTOR)
      this.#draw()
    }
  }

  async #load(): Promise<void> {
    const { client, settings } = this.#invocation
    const asking = { namespace: namespaceOf(this.#invocation), signal: this.#signal }
    const records = await readRecords(client, asking)
    this.#index = records.index
    await this.#measures.measure(client, measuredOf(records), this.#signal)
    this.#cluster = toCluster(settings.address, records, this.#measures)
  }

  async #open(): Promise<void> {
    const { chosen } = this.#place
    if (this.#cluster === undefined || chosen === undefined) return
    this.#details = await detailLines(this.#invocation, this.#cluster, chosen)
  }

  #ids(): readonly string[] {
    const { Nodes = [], Allocations = [] } = this.#cluster ?? {}
    return [...Nodes, ...Allocations].map(({ ID }) => ID)
  }

  #text(): readonly string[] {
    return this.#place.view === 'help' ? HELP : this.#details
  }

  #topMax(): number {
    return Math.max(0, this.#text().length - (this.#invocation.host.rows() - 1))
  }

  #draw(): void {
    const { host, output } = this.#invocation
    const cluster = this.#cluster
    if (cluster === undefined) return
    const { view, chosen, top } = this.#place
    const rows = host.rows()
    if (view !== 'list') {
      const shown = this.#text().slice(top, top + rows - 1)
      const gap = Array.from({ length: Math.max(0, rows - 1 - shown.length) }, () => '')
      const foot = output.paint('dim', '↑↓ scroll   Esc back   q quit')
      return this.#screen.paint([...shown, ...gap, foot])
    }
    this.#screen.paint(
      pictureLines({
        cluster,
        happenings: this.#happenings.latest,
        chosen,
        note: this.#note,
        rows,
        nowMs: host.nowMs(),
        paint: output.paint,
      }),
    )
  }
}

/** Never resolves: what ends well ends nothing else. */
async function failureOf(loop: Promise<void>): Promise<never> {
  await loop
  return await new Promise<never>(() => undefined)
}
