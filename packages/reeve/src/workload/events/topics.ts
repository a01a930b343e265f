import { GOVERNANCE_TOPICS, type EventTopic } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import type { EventRef } from '../../state/index.ts'

/** One `topic` parameter: a topic and a key, each possibly `*`. */
export interface TopicSelector {
  readonly topic: string
  readonly key: string
  /** Restricts a topic to one event type, for topics that are types of another topic. */
  readonly type?: string
}

const ALL_TOPICS: TopicSelector = { topic: '*', key: '*' }

/** Topic names that are accepted on subscribing only. */
const TOPIC_ALIASES: Readonly<Record<string, Omit<TopicSelector, 'key'>>> = {
  NodeDrain: { topic: 'Node', type: 'NodeDrain' },
  ACLRoles: { topic: 'ACLRole' },
}

/** Parses repeated `Topic` or `Topic:key` parameters; none selects everything. */
export function parseTopics(
  topics: readonly string[] | undefined,
): Result<readonly TopicSelector[], Refusal> {
  if (topics === undefined || topics.length === 0) return ok([ALL_TOPICS])
  const selectors: TopicSelector[] = []
  for (const text of topics) {
    const [topic = '', key = '*', ...rest] = text.split(':')
    if (rest.length > 0)
      return err(
        refusal(
          'invalid-input',
          'Invalid topic query: error parsing topics: ' +
            `Invalid key value pair for topic, topic: ${text}`,
        ),
      )
    const alias = Object.hasOwn(TOPIC_ALIASES, topic) ? TOPIC_ALIASES[topic] : undefined
    selectors.push({ ...(alias ?? { topic }), key })
  }
  return ok(selectors)
}

/** Matches a key against an event's `Key` and `FilterKeys`, exactly. */
export function matchesSelector(selector: TopicSelector, event: EventRef): boolean {
  if (selector.topic !== '*' && selector.topic !== event.Topic) return false
  if (selector.type !== undefined && selector.type !== event.Type) return false
  if (selector.key === '*' || selector.key === event.Key) return true
  return event.FilterKeys?.includes(selector.key) ?? false
}

type TopicPermission = 'read-job' | 'host-volume-read' | 'node-read' | 'variables' | 'management'

/** Required capability by topic. Topics that are not listed require a management token. */
const TOPIC_PERMISSIONS: { readonly [T in EventTopic]?: TopicPermission } = {
  Allocation: 'read-job',
  Deployment: 'read-job',
  Evaluation: 'read-job',
  HostVolume: 'host-volume-read',
  Job: 'read-job',
  Service: 'read-job',
  Node: 'node-read',
  Variable: 'variables',
  PolicyVerdict: 'read-job',
}

function permissionFor(topic: string): TopicPermission {
  // An unknown topic is not in the table and so requires management.
  return (
    (Object.hasOwn(TOPIC_PERMISSIONS, topic)
      ? TOPIC_PERMISSIONS[topic as EventTopic]
      : undefined) ?? 'management'
  )
}

/**
 * Reports whether the caller may follow these topics in these namespaces. All or nothing: the
 * capability is required in every requested namespace.
 */
export function mayStream(
  caller: Caller,
  selectors: readonly TopicSelector[],
  namespaces: readonly string[],
): boolean {
  return selectors.every(({ topic }) => mayRead(caller, topic, namespaces))
}

const ORGANIZATION_TOPICS: ReadonlySet<string> = new Set([...GOVERNANCE_TOPICS, ALL_TOPICS.topic])

/**
 * Reports whether an organization token may follow these topics. `*` selects the events of the
 * organization and its objects.
 */
export function mayOrganizationStream(selectors: readonly TopicSelector[]): boolean {
  return selectors.every(({ topic }) => ORGANIZATION_TOPICS.has(topic))
}

/**
 * Applies the same rule to one event, so that a stream opened with `*` never shows a namespace
 * added later.
 */
export function mayRead(caller: Caller, topic: string, namespaces: readonly string[]): boolean {
  const { grants } = caller
  if (grants.isManagement) return true
  const rule = permissionFor(topic)
  if (rule === 'management') return false
  if (rule === 'node-read') return grants.node('read')
  // Access to any variable opens the stream; each event is checked by its own path.
  if (rule === 'variables')
    return namespaces.every((namespace) => grants.allowsAnyVariable(namespace, 'list'))
  return namespaces.every((namespace) => grants.allows(namespace, rule))
}
