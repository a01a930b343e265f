import { ApiError, ConnectionError } from '@reeve/sdk'
import { formatAllocation } from '../alloc/allocation-text.ts'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../errors.ts'
import { formatNode } from '../node/status.ts'
import { truncateToWidth } from '../output/color.ts'
import {
  type ClusterView,
  firstEventIndex,
  measurableTargets,
  queriedNamespace,
  readRecords,
  toClusterView,
} from './cluster.ts'
import { AlternateScreen, renderScreen, stripControlCharacters } from './render.ts'
import { RecentEvents, TOPICS } from './events.ts'
import { handleKey, HELP_LINES, INITIAL_POSITION, parseKeys, type ViewPosition } from './input.ts'
import { UsageSampler } from './usage.ts'

/** `top`: live view on a terminal, otherwise a single screen. */
export async function runTop(invocation: CommandContext): Promise<number> {
  const { flags, output } = invocation
  if (output.canRedraw && !flags.has('once')) return await new LiveView(invocation).run()
  await printOnce(invocation)
  return EXIT_CODES.ok
}

async function printOnce(invocation: CommandContext): Promise<void> {
  const { client, host, output, settings, signal } = invocation
  const records = await readRecords(client, { namespace: queriedNamespace(invocation), signal })
  const measures = new UsageSampler()
  const happenings = new RecentEvents()
  await Promise.all([
    measures.measure(client, measurableTargets(records), signal),
    collectRecentEvents(invocation, records.index, happenings),
  ])
  const cluster = toClusterView(settings.address, records, measures)
  const Events = happenings.latest
  const [columns, nowMs] = [host.isTerminal ? host.columns() : Infinity, host.nowMs()]
  output.print({ ...cluster, Events }, () =>
    renderScreen({
      cluster,
      events: Events,
      selectedId: undefined,
      errorMessage: '',
      rows: Infinity,
      nowMs,
      paint: output.paint,
    })
      .map((line) => `${truncateToWidth(stripControlCharacters(line), columns)}\n`)
      .join('')
      .trimEnd(),
  )
}

/** Time to wait for events: the stream does not indicate its current end. */
const EVENT_WAIT_MS = 1_000

async function collectRecentEvents(
  invocation: CommandContext,
  index: number,
  happenings: RecentEvents,
): Promise<void> {
  const { client } = invocation
  const enough = new AbortController()
  const timer = setTimeout(() => enough.abort(), EVENT_WAIT_MS)
  const signal = AbortSignal.any([invocation.signal, enough.signal])
  const request = {
    topics: TOPICS,
    namespace: queriedNamespace(invocation),
    index: firstEventIndex(index),
  }
  try {
    for await (const line of client.events({ ...request, signal })) {
      happenings.add(line.Events ?? [])
      if ((line.Index ?? 0) >= index) break
    }
  } catch (thrown) {
    // The token may not read events.
    if (!enough.signal.aborted && !(thrown instanceof ApiError)) throw thrown
  } finally {
    clearTimeout(timer)
  }
}

/** Refresh interval without events, because usage changes constantly. */
const REFRESH_MS = 2_000
/** Pause after a refresh, as a multiple of its duration, to batch events. */
const REFRESH_PAUSE_FACTOR = 3
const REFRESH_PAUSE_MS_MIN = 200

/** Full-screen live view of the cluster. */
class LiveView {
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

/** Wakes one waiter. Notifications without a waiter are coalesced. */
class WakeSignal {
  #isNotified = false
  #wake: (() => void) | undefined

  notify(): void {
    this.#isNotified = true
    this.#wake?.()
  }

  /** Resolves at the next notification, after the timeout, or on abort. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isNotified) {
      await sleep(ms, signal, (wake) => {
        this.#wake = wake
      })
    }
    this.#isNotified = false
    this.#wake = undefined
  }

  /** Waits for the given time and discards notifications meanwhile. */
  async debounce(ms: number, signal: AbortSignal): Promise<void> {
    if (ms > 0) await sleep(ms, signal)
    this.#isNotified = false
  }
}

async function sleep(
  ms: number,
  signal: AbortSignal,
  onBegun: (wake: () => void) => void = () => undefined,
): Promise<void> {
  if (signal.aborted) return
  const ended = Promise.withResolvers<void>()
  const timer = setTimeout(ended.resolve, ms)
  const wake = (): void => ended.resolve()
  signal.addEventListener('abort', wake)
  onBegun(wake)
  await ended.promise
  clearTimeout(timer)
  signal.removeEventListener('abort', wake)
}

/** Reads the details of a node or allocation, as in `node status` and `alloc status`. */
async function readDetails(
  invocation: CommandContext,
  { Nodes, Allocations }: ClusterView,
  id: string,
): Promise<readonly string[]> {
  try {
    if (Nodes.some(({ ID }) => ID === id)) return splitLines(await nodeDetails(invocation, id))
    const one = Allocations.find(({ ID }) => ID === id)
    if (one === undefined) return ['It is no longer there.']
    return splitLines(await allocationDetails(invocation, one))
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown
    return [thrown.text.trim() || thrown.message]
  }
}

async function nodeDetails(invocation: CommandContext, id: string): Promise<string> {
  const { client, signal } = invocation
  const params = { node_id: id }
  const [{ data: node }, { data: allocations }] = await Promise.all([
    client.v1.readNode({ params, signal }),
    client.v1.listNodeAllocations({ params, signal }),
  ])
  return formatNode({ node, allocations, usage: undefined }, invocation)
}

async function allocationDetails(
  invocation: CommandContext,
  { ID, Namespace }: { readonly ID: string; readonly Namespace: string },
): Promise<string> {
  const { client, signal } = invocation
  const query = { namespace: Namespace }
  const { data } = await client.v1.readAllocation({ params: { alloc_id: ID }, query, signal })
  return formatAllocation(data, undefined, invocation)
}

function splitLines(text: string): readonly string[] {
  return text.trimEnd().split('\n')
}
