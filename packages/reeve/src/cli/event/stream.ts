import type { EventStreamLine, TopicFilter } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { formatAge } from '../output/time.ts'

/** The changes of the system, one JSON object on each line, until Ctrl-C. */
export async function runEventStream(invocation: Invocation): Promise<number> {
  const { client, flags, output, signal } = invocation
  const lines = client.events({
    // What the server does not know it refuses by name.
    topics: flags.texts('topic') as readonly TopicFilter[],
    index: flags.whole('index'),
    reconnect: !flags.isOff('reconnect'),
    heartbeats: flags.has('heartbeats'),
    onRetry: (error, delayMs) => {
      output.note(`${error.message} Trying again in ${formatAge(delayMs)}.`)
    },
    signal,
  })
  const wanted = flags.whole('count') ?? Number.POSITIVE_INFINITY
  if (wanted === 0) return EXIT_CODES.ok
  let count = 0
  for await (const line of lines) {
    tellGap(invocation, line)
    output.show(line, () => JSON.stringify(line))
    count += 1
    if (count >= wanted) break
  }
  return EXIT_CODES.ok
}

/** A reader that counts on every event must know that some are missing. */
function tellGap({ output }: Invocation, { Gap }: EventStreamLine): void {
  if (Gap === undefined) return
  output.note(`The events from index ${Gap.From} to ${Gap.To} are no longer kept.`)
}
