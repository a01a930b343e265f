import { Type } from 'typebox'
import { routes } from '../route.ts'
import { unreplicatedRead } from './define.ts'
import { Named, Index, MapOf, Nullable, type Infer } from '../schema.ts'
import { AclPolicyRecord } from './acl-policy.ts'
import { AclRole } from './acl-role.ts'
import { AclToken } from './acl-token.ts'
import { AllocationRecord } from './allocation.ts'
import { jsonResponse } from './shared-schemas.ts'
import { Deployment } from './deployment.ts'
import { Evaluation } from './evaluation.ts'
import { HostVolumeRecord } from './host-volume.ts'
import { Job } from './job.ts'
import { NodePool } from './node-pool.ts'
import { Node } from './node.ts'
import { PolicyVerdict } from './policy-verdict.ts'
import { RepeatedParameter } from './query.ts'
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
export const GovernanceRecord = Type.Object(
  {
    id: Type.String(),
    type: Type.String({ description: 'As in the document of the governance API.' }),
    /** `organization-id` (`org-…`) is the organization that the record belongs to. */
    attributes: MapOf(Type.Unknown()),
  },
  { $id: 'GovernanceRecord', description: 'A record of the governance API without secrets.' },
)
export type GovernanceRecord = Infer<typeof GovernanceRecord>

/** Payload of each topic. Secrets are always empty. */
export const EventPayloads = {
  ACLToken: Type.Object({ ACLToken: AclToken }),
  ACLPolicy: Type.Object({ ACLPolicy: AclPolicyRecord }),
  ACLRole: Type.Object({ ACLRole: AclRole }),
  Allocation: Type.Object({ Allocation: AllocationRecord }),
  Job: Type.Object({ Job: Job, Deleted: Type.Optional(Type.Boolean()) }),
  Evaluation: Type.Object({ Evaluation: Evaluation }),
  Deployment: Type.Object({ Deployment: Deployment }),
  Node: Type.Object({ Node: Node }),
  Service: Type.Object({ Service: ServiceRegistration }),
  NodePool: Type.Object({ NodePool: NodePool }),
  Variable: Type.Object({ Metadata: VariableMetadata, Deleted: Type.Boolean() }),
  HostVolume: Type.Object({ Volume: HostVolumeRecord }),
  PolicyVerdict: Type.Object({ PolicyVerdict: PolicyVerdict }),
  Organization: Type.Object({ Organization: GovernanceRecord }),
  Project: Type.Object({ Project: GovernanceRecord }),
  Workspace: Type.Object({ Workspace: GovernanceRecord }),
  Policy: Type.Object({ Policy: GovernanceRecord }),
  PolicySet: Type.Object({ PolicySet: GovernanceRecord }),
  Run: Type.Object({ Run: GovernanceRecord }),
  PolicyCheck: Type.Object({ PolicyCheck: GovernanceRecord }),
  PolicyEvaluation: Type.Object({ PolicyEvaluation: GovernanceRecord }),
  PolicySetOutcome: Type.Object({ PolicySetOutcome: GovernanceRecord }),
}
export type EventPayloads = { readonly [T in EventTopic]: Infer<(typeof EventPayloads)[T]> }

export const Event = Named('Event', 'One change of one record.', {
  Topic: Type.Enum(EVENT_TOPICS),
  Type: Type.Enum(EVENT_TYPES),
  Key: Type.String({ description: 'Id or name of what changed.' }),
  Namespace: Type.String({ description: 'Empty for what has no namespace.' }),
  FilterKeys: Nullable(Type.Array(Type.String(), { description: 'Other keys it is found by.' })),
  Index: Index(),
  Payload: Type.Union([
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
export type Event = Infer<typeof Event>

/** The events of one topic, with the payload that belongs to it. */
export type EventOf<T extends EventTopic> = Omit<Event, 'Topic' | 'Payload'> & {
  readonly Topic: T
  readonly Payload: EventPayloads[T]
}

export const EventGap = Named('EventGap', 'Commits that were asked for and are no longer kept.', {
  From: Index(),
  To: Index(),
})

/**
 * One line of the body of an event stream. A heartbeat is `{}`. On every other line `Index` means
 * that all commits up to it were delivered. `Gap` reports that some of the requested events are no
 * longer kept, so that a reader never misses them silently. `Closed` is on the last line of a
 * stream that the server closes.
 */
export const EventLine = Named('EventLine', 'The events of one commit; `{}` is a heartbeat.', {
  Index: Type.Optional(Index('All commits up to it were delivered; resume at `Index + 1`.')),
  Events: Type.Optional(Type.Array(Event)),
  Gap: Type.Optional(EventGap),
  Closed: Type.Optional(
    Type.String({ description: 'Why the server ends the stream; resume at `Index + 1`.' }),
  ),
})
export type EventLine = Infer<typeof EventLine>

export const eventRoutes = routes('Event stream', {
  streamEvents: unreplicatedRead('/event/stream', {
    summary: 'Follow the changes of the system, one JSON object on each line.',
    answeredBy: 'leader',
    streams: true,
    query: {
      index: Type.Optional(
        Type.Integer({
          description: 'Where to begin; 0 sends all that is kept.',
          minimum: 0,
          default: 0,
        }),
      ),
      topic: RepeatedParameter(
        '`<Topic>` or `<Topic>:<key>`; may be repeated; all topics when absent.',
      ),
    },
    returns: jsonResponse(EventLine, 'Lines, until the caller leaves.'),
    errors: { 400: '`index` or a topic cannot be read.' },
    needs:
      'management for `*`, ACL topics and NodePool; node:read for Node; an organization token (of ' +
      '`/api/v2`) or management for the governance topics; namespace:host-volume-read for ' +
      'HostVolume; else namespace:read-job',
  }),
})
