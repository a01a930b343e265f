import type { ANY_TOPIC, EVENT_TOPIC_ALIASES, EventTopic } from '@reeve/contract'
import type { EventStreamLine, TopicFilter } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES, UsageError } from '../errors.ts'
import type { Flags } from '../flags.ts'
import { formatAge } from '../output/format.ts'

/** `event stream`: prints events as JSON, one per line, until Ctrl-C. */
export async function runEventStream(invocation: CommandContext): Promise<number> {
  const { client, flags, output, signal } = invocation
  const lines = client.events({
    topics: parseTopics(flags),
    index: flags.integer('index'),
    reconnect: !flags.isNegated('reconnect'),
    heartbeats: flags.has('heartbeats'),
    onRetry: (error, delayMs) => {
      output.printNotice(`${error.message} Trying again in ${formatAge(delayMs)}.`)
    },
    signal,
  })
  const wanted = flags.integer('count') ?? Number.POSITIVE_INFINITY
  if (wanted === 0) return EXIT_CODES.ok
  let count = 0
  for await (const line of lines) {
    reportGap(invocation, line)
    output.print(line, () => JSON.stringify(line))
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

/** Validates the topics: servers accept unknown topics and send no events for them. */
function parseTopics(flags: Flags): readonly TopicFilter[] {
  return flags.strings('topic').map((given) => {
    const [name = ''] = given.split(':')
    if (Object.hasOwn(TOPICS, name)) {
      // Proof: the name is one of the topics; the rest is a key.
      return given as TopicFilter
    }
    throw new UsageError(`there is no topic "${name}": ${Object.keys(TOPICS).join(', ')}.`)
  })
}

/** Reports missing events to readers that rely on receiving all. */
function reportGap({ output }: CommandContext, { Gap }: EventStreamLine): void {
  if (Gap === undefined) return
  output.printNotice(`The events from index ${Gap.From} to ${Gap.To} are no longer kept.`)
}
