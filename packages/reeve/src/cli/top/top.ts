import { ApiError } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { cutTo } from '../output/style.ts'
import { firstIndex, measuredOf, namespaceOf } from './asking.ts'
import { readRecords, toCluster } from './cluster.ts'
import { harmless } from './full-screen.ts'
import { Happenings, TOPICS } from './happenings.ts'
import { LiveTop } from './live.ts'
import { Measures } from './measures.ts'
import { pictureLines } from './picture.ts'

/** The cluster at a glance: live on a terminal, else one picture of it. */
export async function runTop(invocation: Invocation): Promise<number> {
  const { flags, output } = invocation
  if (output.isLive && !flags.has('once')) return await new LiveTop(invocation).run()
  await showOnce(invocation)
  return EXIT_CODES.ok
}

async function showOnce(invocation: Invocation): Promise<void> {
  const { client, host, output, settings, signal } = invocation
  const records = await readRecords(client, { namespace: namespaceOf(invocation), signal })
  const measures = new Measures()
  const happenings = new Happenings()
  await Promise.all([
    measures.measure(client, measuredOf(records), signal),
    collectHappenings(invocation, records.index, happenings),
  ])
  const cluster = toCluster(settings.address, records, measures)
  const Events = happenings.latest
  const [columns, nowMs] = [host.isTerminal ? host.columns() : Infinity, host.nowMs()]
  output.show({ ...cluster, Events }, () =>
    pictureLines({
      cluster,
      happenings: Events,
      chosen: undefined,
      note: '',
      rows: Infinity,
      nowMs,
      paint: output.paint,
    })
      .map((line) => `${cutTo(harmless(line), columns)}\n`)
      .join('')
      .trimEnd(),
  )
}

/** The stream does not say that nothing more is kept: its silence does. */
const SILENCE_MS = 1_000

async function collectHappenings(
  invocation: Invocation,
  index: number,
  happenings: Happenings,
): Promise<void> {
  const { client } = invocation
  const enough = new AbortController()
  const timer = setTimeout(() => enough.abort(), SILENCE_MS)
  const signal = AbortSignal.any([invocation.signal, enough.signal])
  const request = { topics: TOPICS, namespace: namespaceOf(invocation), index: firstIndex(index) }
  try {
    for await (const line of client.events({ ...request, signal })) {
      happenings.add(line.Events ?? [])
      if ((line.Index ?? 0) >= index) break
    }
  } catch (thrown) {
    // A token may be allowed to look and not to follow.
    if (!enough.signal.aborted && !(thrown instanceof ApiError)) throw thrown
  } finally {
    clearTimeout(timer)
  }
}
