import type { ANY_TOPIC, EVENT_TOPIC_ALIASES, EventTopic } from '@reeve/contract'
import type { EventStreamLine, TopicFilter } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { Flags } from '../flags.ts'
import { formatAge } from '../output/time.ts'

/** The changes of the system, one JSON object on each line, until Ctrl-C. */
export async function runEventStream(invocation: Invocation): Promise<number> {
  const { client, flags, output, signal } = invocation
  const lines = client.events({
    topics: topicsOf(flags),
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

type TopicName = EventTopic | keyof typeof EVENT_TOPIC_ALIASES | typeof ANY_TOPIC

const TOPICS: Readonly<Record<TopicName, true>> = {
  '*': true,
  ACLToken: true,
  ACLPolicy: true,
  ACLRole: true,
  ACLRoles: true,
  Allocation: true,
  HostVolume: true,
  Job: true,
  Evaluation: true,
  Deployment: true,
  Node: true,
  NodeDrain: true,
  NodePool: true,
  Service: true,
  Variable: true,
  PolicyVerdict: true,
  Organization: true,
  Project: true,
  Workspace: true,
  Policy: true,
  PolicySet: true,
  PolicyCheck: true,
  PolicyEvaluation: true,
  PolicySetOutcome: true,
  Run: true,
}

/** Servers send nothing for a topic they do not know, without end: a typing error would wait. */
function topicsOf(flags: Flags): readonly TopicFilter[] {
  return flags.texts('topic').map((given) => {
    const [name = ''] = given.split(':')
    if (Object.hasOwn(TOPICS, name)) {
      // The name is one of the topics; what stands after it is a key.
      return given as TopicFilter
    }
    throw new UsageError(`there is no topic "${name}": ${Object.keys(TOPICS).join(', ')}.`)
  })
}

/** A reader that counts on every event must know that some are missing. */
function tellGap({ output }: Invocation, { Gap }: EventStreamLine): void {
  if (Gap === undefined) return
  output.note(`The events from index ${Gap.From} to ${Gap.To} are no longer kept.`)
}
