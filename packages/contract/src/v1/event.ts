import * as t from './shared-schemas.ts'
import { nodeRead, routes } from './define.ts'
import { AclPolicyRecord } from './acl-policy.ts'
import { AclRole } from './acl-role.ts'
import { AclToken } from './acl-token.ts'
import { AllocationRecord } from './allocation.ts'
import { Deployment } from './deployment.ts'
import { Evaluation } from './evaluation.ts'
import { HostVolumeRecord } from './host-volume.ts'
import { Job } from './job.ts'
import { NodePool } from './node-pool.ts'
import { Node } from './node.ts'
import { PolicyVerdict } from './policy-verdict.ts'
import { ServiceRegistration } from './service-registration.ts'
import { VariableMetadata } from './variable.ts'

/** Topics of the governance API: objects of an organization, which have no namespace. */
export const GOVERNANCE_TOPICS = [
  'Organization',
  'Project',
  'Workspace',
  'Policy',
  'PolicySet',
  'Run',
  'PolicyCheck',
  'PolicyEvaluation',
  'PolicySetOutcome',
] as const
export type GovernanceTopic = (typeof GOVERNANCE_TOPICS)[number]

/**
 * Topics that events carry. `PolicyVerdict` is specific to this product; the last ones are those
 * of the governance API.
 */
export const EVENT_TOPICS = [
  'ACLToken',
  'ACLPolicy',
  'ACLRole',
  'Allocation',
  'Job',
  'Evaluation',
  'Deployment',
  'Node',
  'Service',
  'NodePool',
  'Variable',
  'HostVolume',
  'PolicyVerdict',
  ...GOVERNANCE_TOPICS,
] as const
export type EventTopic = (typeof EVENT_TOPICS)[number]

/** Wildcard for a topic or a key. */
export const ANY_TOPIC = '*'

/** Aliases that a caller may subscribe to besides the topics. */
export const EVENT_TOPIC_ALIASES = {
  /** Alias of the same topic. */
  ACLRoles: 'ACLRole',
  /** Selects the events of topic `Node` whose type is `NodeDrain`. */
  NodeDrain: 'Node',
} as const satisfies Record<string, EventTopic>

/** Suffixes of the event types of governance records. */
const WRITTEN = ['Created', 'Updated', 'Deleted'] as const
export type GovernanceEventType = `${GovernanceTopic}${(typeof WRITTEN)[number]}`

function governanceEventTypes(): readonly GovernanceEventType[] {
  return GOVERNANCE_TOPICS.flatMap((topic) => WRITTEN.map((what) => `${topic}${what}` as const))
}

/**
 * The types of further topics and of the governance API follow. Decision 0061 adds
 * `JobQuarantined` and `JobReleased`.
 */
export const EVENT_TYPES = [
  'ACLTokenUpserted',
  'ACLTokenDeleted',
  'ACLPolicyUpserted',
  'ACLPolicyDeleted',
  'ACLRoleUpserted',
  'ACLRoleDeleted',
  'AllocationCreated',
  'AllocationUpdated',
  'AllocationUpdateDesiredStatus',
  'DeploymentStatusUpdate',
  'DeploymentPromotion',
  'DeploymentAllocHealth',
  'EvaluationUpdated',
  'JobRegistered',
  'JobDeregistered',
  'JobBatchDeregistered',
  'JobQuarantined',
  'JobReleased',
  'NodeRegistration',
  'NodeDeregistration',
  'NodeEligibility',
  'NodeDrain',
  'NodeEvent',
  'NodeRevocation',
  'PlanResult',
  'ServiceRegistration',
  'ServiceDeregistration',
  'NodePoolUpserted',
  'NodePoolDeleted',
  'VariableUpdated',
  'HostVolumeRegistered',
  'HostVolumeDeleted',
  'PolicyDenied',
  'PolicyOverridden',
  ...governanceEventTypes(),
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/**
 * A record of the governance API as events carry it: named and typed as in its document, without
 * fields computed for a caller (permissions, counts, links) and without secrets.
 */
export const GovernanceRecord = t.Object(
  {
    id: t.String(),
    type: t.String({ description: 'As in the document of the governance API.' }),
    /** `organization-id` (`org-…`) is the organization that the record belongs to. */
    attributes: t.MapOf(t.Unknown()),
  },
  { $id: 'GovernanceRecord', description: 'A record of the governance API without secrets.' },
)
export type GovernanceRecord = t.Infer<typeof GovernanceRecord>

/** Payload of each topic. Secrets are always empty. */
export const EventPayloads = {
  ACLToken: t.Object({ ACLToken: AclToken }),
  ACLPolicy: t.Object({ ACLPolicy: AclPolicyRecord }),
  ACLRole: t.Object({ ACLRole: AclRole }),
  Allocation: t.Object({ Allocation: AllocationRecord }),
  Job: t.Object({ Job: Job, Deleted: t.Optional(t.Boolean()) }),
  Evaluation: t.Object({ Evaluation: Evaluation }),
  Deployment: t.Object({ Deployment: Deployment }),
  Node: t.Object({ Node: Node }),
  Service: t.Object({ Service: ServiceRegistration }),
  NodePool: t.Object({ NodePool: NodePool }),
  Variable: t.Object({ Metadata: VariableMetadata, Deleted: t.Boolean() }),
  HostVolume: t.Object({ Volume: HostVolumeRecord }),
  PolicyVerdict: t.Object({ PolicyVerdict: PolicyVerdict }),
  Organization: t.Object({ Organization: GovernanceRecord }),
  Project: t.Object({ Project: GovernanceRecord }),
  Workspace: t.Object({ Workspace: GovernanceRecord }),
  Policy: t.Object({ Policy: GovernanceRecord }),
  PolicySet: t.Object({ PolicySet: GovernanceRecord }),
  Run: t.Object({ Run: GovernanceRecord }),
  PolicyCheck: t.Object({ PolicyCheck: GovernanceRecord }),
  PolicyEvaluation: t.Object({ PolicyEvaluation: GovernanceRecord }),
  PolicySetOutcome: t.Object({ PolicySetOutcome: GovernanceRecord }),
}
export type EventPayloads = { readonly [T in EventTopic]: t.Infer<(typeof EventPayloads)[T]> }

export const Event = t.Named('Event', 'One change of one record.', {
  Topic: t.Enum(EVENT_TOPICS),
  Type: t.Enum(EVENT_TYPES),
  Key: t.String({ description: 'Id or name of what changed.' }),
  Namespace: t.String({ description: 'Empty for what has no namespace.' }),
  FilterKeys: t.Nullable(t.Array(t.String(), { description: 'Other keys it is found by.' })),
  Index: t.Index(),
  Payload: t.Union([
    EventPayloads.ACLToken,
    EventPayloads.ACLPolicy,
    EventPayloads.ACLRole,
    EventPayloads.Allocation,
    EventPayloads.Job,
    EventPayloads.Evaluation,
    EventPayloads.Deployment,
    EventPayloads.Node,
    EventPayloads.Service,
    EventPayloads.NodePool,
    EventPayloads.Variable,
    EventPayloads.HostVolume,
    EventPayloads.PolicyVerdict,
    EventPayloads.Organization,
    EventPayloads.Project,
    EventPayloads.Workspace,
    EventPayloads.Policy,
    EventPayloads.PolicySet,
    EventPayloads.Run,
    EventPayloads.PolicyCheck,
    EventPayloads.PolicyEvaluation,
    EventPayloads.PolicySetOutcome,
  ]),
})
export type Event = t.Infer<typeof Event>

/** The events of one topic, with the payload that belongs to it. */
export type EventOf<T extends EventTopic> = Omit<Event, 'Topic' | 'Payload'> & {
  readonly Topic: T
  readonly Payload: EventPayloads[T]
}

export const EventGap = t.Named('EventGap', 'Commits that were asked for and are no longer kept.', {
  From: t.Index(),
  To: t.Index(),
})

/**
 * One line of the body of an event stream. A heartbeat is `{}`. On every other line `Index` means
 * that all commits up to it were delivered. `Gap` reports that some of the requested events are no
 * longer kept, so that a reader never misses them silently. `Closed` is on the last line of a
 * stream that the server closes.
 */
export const EventLine = t.Named('EventLine', 'The events of one commit; `{}` is a heartbeat.', {
  Index: t.Optional(t.Index('All commits up to it were delivered; resume at `Index + 1`.')),
  Events: t.Optional(t.Array(Event)),
  Gap: t.Optional(EventGap),
  Closed: t.Optional(
    t.String({ description: 'Why the server ends the stream; resume at `Index + 1`.' }),
  ),
})
export type EventLine = t.Infer<typeof EventLine>

export const eventRoutes = routes('Event stream', {
  streamEvents: nodeRead('/event/stream', {
    summary: 'Follow the changes of the system, one JSON object on each line.',
    streams: true,
    query: {
      index: t.Optional(
        t.Integer({
          description: 'Where to begin; 0 sends all that is kept.',
          minimum: 0,
          default: 0,
        }),
      ),
      topic: t.RepeatedParameter(
        '`<Topic>` or `<Topic>:<key>`; may be repeated; all topics when absent.',
      ),
    },
    returns: t.jsonResponse(EventLine, 'Lines, until the caller leaves.'),
    errors: { 400: '`index` or a topic cannot be read.' },
    needs:
      'management for `*`, ACL topics and NodePool; node:read for Node; an organization token (of ' +
      '`/api/v2`) or management for the governance topics; namespace:host-volume-read for ' +
      'HostVolume; else namespace:read-job',
  }),
})
