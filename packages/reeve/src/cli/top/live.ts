import { ApiError, ConnectionError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { readRecords, toClusterView, type ClusterView } from './cluster.ts'
import { readDetails } from './details.ts'
import { WakeSignal } from './doorbell.ts'
import { firstEventIndex, measurableTargets, queriedNamespace } from './asking.ts'
import { AlternateScreen } from './full-screen.ts'
import { RecentEvents, TOPICS } from './happenings.ts'
import { HELP_LINES } from './help.ts'
import { parseKeys } from './keys.ts'
import { UsageSampler } from './measures.ts'
import { INITIAL_POSITION, handleKey, type ViewPosition } from './navigation.ts'
import { renderScreen } from './picture.ts'

/** Refresh interval without events, because usage changes constantly. */
const REFRESH_MS = 2_000
/** Pause after a refresh, as a multiple of its duration, to batch events. */
const REFRESH_PAUSE_FACTOR = 3
const REFRESH_PAUSE_MS_MIN = 200

/** Full-screen live view of the cluster. */
export class LiveView {
  readonly #invocation: CommandContext
  readonly #screen: AlternateScreen
  readonly #stopController = new AbortController()
  readonly #signal: AbortSignal
  readonly #usage = new UsageSampler()
  readonly #events = new RecentEvents()
  readonly #wakeSignal = new WakeSignal()
  #cluster: ClusterView | undefined
  #index = 0
  #position: ViewPosition = INITIAL_POSITION
  #details: readonly string[] = []
  #errorMessage = ''

  constructor(invocation: CommandContext) {
    this.#signal = AbortSignal.any([invocation.signal, this.#stopController.signal])
    this.#invocation = { ...invocation, signal: this.#signal }
    this.#screen = new AlternateScreen(invocation.host)
  }

  async run(): Promise<number> {
    const { host } = this.#invocation
    // Errors are reported before the screen is switched.
    await this.#load()
    const stopResizing = host.onResize(() => this.#draw())
    this.#screen.enter()
    try {
      this.#draw()
      await this.#runLoops()
    } finally {
      this.#stopController.abort()
      stopResizing()
      this.#screen.leave()
      // A pending read of standard input would keep the process alive.
      host.input.destroy?.()
    }
    return this.#hasQuit ? EXIT_CODES.ok : EXIT_CODES.interrupted
  }

  #hasQuit = false

  async #runLoops(): Promise<void> {
    const loops = [this.#handleKeys(), this.#followEvents(), this.#refreshLoop()]
    const ended = new Promise<void>((resolve) => {
      this.#signal.addEventListener('abort', () => resolve(), { once: true })
    })
    try {
      // A failing loop stops the others; none of them resolves before the user quits.
      await Promise.race([ended, ...loops.map((loop) => rejectionOf(loop))])
    } finally {
      this.#stopController.abort()
      for (const loop of loops) loop.catch(() => undefined)
    }
  }

  async #handleKeys(): Promise<void> {
    const { input } = this.#invocation.host
    // Without a terminal, only a signal ends the view.
    if (input.isTTY !== true) return
    for await (const chunk of input) {
      for (const key of parseKeys(Buffer.from(chunk).toString('utf8'))) {
        if (key === 'quit') return this.#quit()
        const before = this.#position
        this.#position = handleKey(before, key, { ids: this.#ids(), topMax: this.#topMax() })
        if (this.#position.view === 'details' && before.view !== 'details')
          await this.#loadDetails()
        this.#draw()
      }
      if (this.#signal.aborted) return
    }
    // The terminal was closed.
    this.#quit()
  }

  #quit(): void {
    this.#hasQuit = true
    this.#stopController.abort()
  }

  async #followEvents(): Promise<void> {
    const { client } = this.#invocation
    const asked = { topics: TOPICS, namespace: queriedNamespace(this.#invocation), reconnect: true }
    while (!this.#signal.aborted) {
      const index = firstEventIndex(this.#index)
      try {
        for await (const line of client.events({ ...asked, index, signal: this.#signal })) {
          this.#events.add(line.Events ?? [])
          this.#wakeSignal.notify()
        }
      } catch (thrown) {
        // The token may not read events: the view is refreshed by the timer only.
        if (thrown instanceof ApiError) return
        // The stream reconnects by itself once it is established.
        if (!(thrown instanceof ConnectionError)) throw thrown
      }
      await new WakeSignal().wait(REFRESH_MS, this.#signal)
    }
  }

  async #refreshLoop(): Promise<void> {
    let restMs = 0
    while (!this.#signal.aborted) {
      await this.#wakeSignal.wait(REFRESH_MS, this.#signal)
      await this.#wakeSignal.debounce(restMs, this.#signal)
      if (this.#signal.aborted) return
      const { host } = this.#invocation
      const beganMs = host.nowMs()
      try {
        await this.#load()
        if (this.#position.view === 'details') await this.#loadDetails()
        this.#errorMessage = ''
      } catch (thrown) {
        if (!(thrown instanceof ApiError) && !(thrown instanceof ConnectionError)) throw thrown
        this.#errorMessage = `Trying again: ${thrown.message}`
      }
      restMs = Math.max(REFRESH_PAUSE_MS_MIN, (host.nowMs() - beganMs) * REFRESH_PAUSE_FACTOR)
      this.#draw()
    }
  }

  async #load(): Promise<void> {
    const { client, settings } = this.#invocation
    const asking = { namespace: queriedNamespace(this.#invocation), signal: this.#signal }
    const records = await readRecords(client, asking)
    this.#index = records.index
    await this.#usage.measure(client, measurableTargets(records), this.#signal)
    this.#cluster = toClusterView(settings.address, records, this.#usage)
  }

  async #loadDetails(): Promise<void> {
    const { selectedId } = this.#position
    if (this.#cluster === undefined || selectedId === undefined) return
    this.#details = await readDetails(this.#invocation, this.#cluster, selectedId)
  }

  #ids(): readonly string[] {
    const { Nodes = [], Allocations = [] } = this.#cluster ?? {}
    return [...Nodes, ...Allocations].map(({ ID }) => ID)
  }

  #textLines(): readonly string[] {
    return this.#position.view === 'help' ? HELP_LINES : this.#details
  }

  #topMax(): number {
    return Math.max(0, this.#textLines().length - (this.#invocation.host.rows() - 1))
  }

  #draw(): void {
    const { host, output } = this.#invocation
    const cluster = this.#cluster
    if (cluster === undefined) return
    const { view, selectedId, top } = this.#position
    const rows = host.rows()
    if (view !== 'list') {
      const shown = this.#textLines().slice(top, top + rows - 1)
      const gap = Array.from({ length: Math.max(0, rows - 1 - shown.length) }, () => '')
      const foot = output.paint('dim', '↑↓ scroll   Esc back   q quit')
      return this.#screen.paint([...shown, ...gap, foot])
    }
    this.#screen.paint(
      renderScreen({
        cluster,
        events: this.#events.latest,
        selectedId,
        errorMessage: this.#errorMessage,
        rows,
        nowMs: host.nowMs(),
        paint: output.paint,
      }),
    )
  }
}

/** Rejects if the loop fails; never resolves, so that a finished loop does not win the race. */
async function rejectionOf(loop: Promise<void>): Promise<never> {
  await loop
  return await new Promise<never>(() => undefined)
}
