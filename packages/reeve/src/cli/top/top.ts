import { ApiError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { truncateToWidth } from '../output/style.ts'
import { firstEventIndex, measurableTargets, queriedNamespace } from './asking.ts'
import { readRecords, toClusterView } from './cluster.ts'
import { stripControlCharacters } from './full-screen.ts'
import { RecentEvents, TOPICS } from './happenings.ts'
import { LiveView } from './live.ts'
import { UsageSampler } from './measures.ts'
import { renderScreen } from './picture.ts'

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
