import type { EventTopic, EventType, GovernanceTopic } from '@reeve/contract'
import type { CommittedRow, EventRef } from './commit.ts'
import type { TableName } from './schema/tables.ts'

/** Cause of a commit, as an event type. */
export type Cause = EventType

interface EventSource {
  readonly topic: EventTopic
  readonly key: (row: object) => string
  readonly filterKeys: (row: object) => readonly string[] | null
  /** Set if rows are deleted only because newer ones replace them, which emits no event. */
  readonly hasNoDeleteEvent?: true
}

/** An applied row with its decoded form; for a deleted row, the last one. */
export interface AppliedRow {
  readonly committed: CommittedRow
  readonly row: object | undefined
}

/** Tables without an entry emit no events. */
const EVENT_SOURCES: { readonly [N in TableName]?: EventSource } = {
  acl_policies: { topic: 'ACLPolicy', key: stringField('Name'), filterKeys: noFilterKeys },
  acl_roles: {
    topic: 'ACLRole',
    key: stringField('ID'),
    filterKeys: (row) => [stringField('Name')(row)],
  },
  acl_tokens: { topic: 'ACLToken', key: stringField('AccessorID'), filterKeys: noFilterKeys },
  allocations: { topic: 'Allocation', key: stringField('ID'), filterKeys: jobAndDeploymentIds },
  deployments: {
    topic: 'Deployment',
    key: stringField('ID'),
    filterKeys: (row) => [stringField('JobID')(row)],
  },
  evaluations: { topic: 'Evaluation', key: stringField('ID'), filterKeys: jobAndDeploymentIds },
  host_volumes: {
    topic: 'HostVolume',
    key: stringField('ID'),
    filterKeys: (row) => ['ID', 'Name', 'PluginID'].map((name) => stringField(name)(row)),
  },
  jobs: { topic: 'Job', key: stringField('ID'), filterKeys: noFilterKeys },
  node_pools: { topic: 'NodePool', key: stringField('Name'), filterKeys: noFilterKeys },
  nodes: { topic: 'Node', key: stringField('ID'), filterKeys: noFilterKeys },
  service_registrations: {
    topic: 'Service',
    key: stringField('ID'),
    filterKeys: (row) => [stringField('JobID')(row), stringField('ServiceName')(row)],
  },
  variables: { topic: 'Variable', key: stringField('Path'), filterKeys: noFilterKeys },
  policy_verdicts: {
    topic: 'PolicyVerdict',
    key: stringField('ID'),
    filterKeys: (row) => [stringField('JobID')(row)],
    hasNoDeleteEvent: true,
  },
  organizations: {
    topic: 'Organization',
    key: stringField('id'),
    filterKeys: organizationAndName('id'),
  },
  policy_checks: runSource('PolicyCheck'),
  policy_evaluations: runSource('PolicyEvaluation'),
  policy_set_outcomes: runSource('PolicySetOutcome'),
  policy_sets: governanceSource('PolicySet'),
  projects: governanceSource('Project'),
  run_policies: governanceSource('Policy'),
  runs: {
    topic: 'Run',
    key: stringField('id'),
    filterKeys: (row) => [stringField('organizationId')(row), stringField('workspaceId')(row)],
  },
  workspaces: governanceSource('Workspace'),
}

/**
 * The first filter key is the organization, by which the streams of organization tokens are
 * filtered.
 */
function governanceSource(topic: GovernanceTopic): EventSource {
  return { topic, key: stringField('id'), filterKeys: organizationAndName('organizationId') }
}

/** Policy results of a run; the run and its workspace are filter keys too. */
function runSource(topic: GovernanceTopic): EventSource {
  const keys = ['organizationId', 'runId', 'workspaceId'].map(stringField)
  return { topic, key: stringField('id'), filterKeys: (row) => keys.map((key) => key(row)) }
}

function organizationAndName(organization: string): EventSource['filterKeys'] {
  return (row) => [stringField(organization)(row), stringField('name')(row)]
}

const GOVERNANCE_TOPIC_SET: ReadonlySet<string> = new Set<GovernanceTopic>([
  'Organization',
  'Project',
  'Workspace',
  'Policy',
  'PolicySet',
  'Run',
  'PolicyCheck',
  'PolicyEvaluation',
  'PolicySetOutcome',
])

/** Organization of an event; undefined for events outside the governance API. */
export function organizationOfEvent({ Topic, FilterKeys }: EventRef): string | undefined {
  return GOVERNANCE_TOPIC_SET.has(Topic) ? FilterKeys?.[0] : undefined
}

/** Events of a commit: one for each row of a table with an event source. */
export function commitEvents(
  cause: Cause,
  rows: readonly AppliedRow[],
  commitIndex: number,
): readonly EventRef[] {
  const events: EventRef[] = []
  rows.forEach(({ committed, row }, position) => {
    // The store applies rows of its own tables only.
    const source = EVENT_SOURCES[committed.table as TableName]
    if (source === undefined || row === undefined) return
    const isNew = committed.header?.[0] === commitIndex
    const isDeleted = committed.header === undefined
    if (isDeleted && source.hasNoDeleteEvent === true) return
    events.push({
      Topic: source.topic,
      Type: eventType(cause, source.topic, { row, isNew, isDeleted }),
      Key: source.key(row),
      Namespace: namespaceOf(row),
      FilterKeys: source.filterKeys(row),
      row: position,
    })
  })
  return events
}

/**
 * Evaluations are always EvaluationUpdated; allocations distinguish new ones, updates by their node
 * and updates by the servers; other rows carry the cause of the commit.
 */
function eventType(
  cause: Cause,
  topic: EventTopic,
  { row, isNew, isDeleted }: RowChange,
): EventType {
  if (topic === 'Evaluation') return 'EvaluationUpdated'
  if (isGovernanceTopic(topic))
    return isDeleted ? `${topic}Deleted` : isNew ? `${topic}Created` : `${topic}Updated`
  // Services are deregistered with their allocation, whatever the cause; variables have only one
  // event type.
  if (topic === 'Service') return isDeleted ? 'ServiceDeregistration' : 'ServiceRegistration'
  if (topic === 'Variable') return 'VariableUpdated'
  if (topic === 'HostVolume') return isDeleted ? 'HostVolumeDeleted' : 'HostVolumeRegistered'
  if (topic === 'PolicyVerdict')
    return stringField('Result')(row) === 'denied' ? 'PolicyDenied' : 'PolicyOverridden'
  // Status reports of a node update a deployment as allocation health.
  if (topic === 'Deployment' && cause === 'AllocationUpdated') return 'DeploymentAllocHealth'
  // A failed deployment may revert the job to an earlier version.
  if (topic === 'Job' && DEPLOYMENT_CAUSES.has(cause) && isNewVersion(row)) return 'JobRegistered'
  if (topic === 'Job' && cause === 'NodeEvent' && isNewlyQuarantined(row)) return 'JobQuarantined'
  // The commit that registers a job may also place it: all other changes belong to the plan,
  // including status changes of jobs whose allocations were preempted.
  const comesFromPlan = topic === 'Deployment' || (topic === 'Job' && !isNewVersion(row))
  if (comesFromPlan && cause === 'JobRegistered') return 'PlanResult'
  if (topic !== 'Allocation') return cause
  return allocationEventType(cause, { row, isNew })
}

function isGovernanceTopic(topic: EventTopic): topic is GovernanceTopic {
  return GOVERNANCE_TOPIC_SET.has(topic)
}

interface RowChange {
  readonly row: object
  readonly isNew: boolean
  readonly isDeleted: boolean
}

const PLACEMENT_CAUSES: ReadonlySet<Cause> = new Set(['PlanResult', 'JobRegistered'])

/** A change by a server is a change of the desired status, whatever its cause. */
function allocationEventType(
  cause: Cause,
  { row, isNew }: { readonly row: object; readonly isNew: boolean },
): EventType {
  if (isNew) return 'AllocationCreated'
  if (cause === 'AllocationUpdated') return cause
  const keepsRunning = PLACEMENT_CAUSES.has(cause) && stringField('DesiredStatus')(row) === 'run'
  return keepsRunning ? 'PlanResult' : 'AllocationUpdateDesiredStatus'
}

const DEPLOYMENT_CAUSES: ReadonlySet<Cause> = new Set([
  'DeploymentStatusUpdate',
  'DeploymentAllocHealth',
])

/** True if the row is a new version, not only a status change. */
function isNewVersion(row: object): boolean {
  return Reflect.get(row, 'JobModifyIndex') === Reflect.get(row, 'ModifyIndex')
}

/** True if this commit quarantined the job (decision 0061). */
function isNewlyQuarantined(row: object): boolean {
  const quarantine: unknown = Reflect.get(row, 'Quarantine')
  if (typeof quarantine !== 'object' || quarantine === null) return false
  return Reflect.get(quarantine, 'CreateIndex') === Reflect.get(row, 'ModifyIndex')
}

function stringField(name: string): (row: object) => string {
  return (row) => {
    const value: unknown = Reflect.get(row, name)
    return typeof value === 'string' ? value : ''
  }
}

// Created once: every committed row passes here.
const namespaceOf = stringField('Namespace')
const jobIdOf = stringField('JobID')
const deploymentIdOf = stringField('DeploymentID')

function noFilterKeys(): null {
  return null
}

/** A missing deployment ID is an empty string. */
function jobAndDeploymentIds(row: object): readonly string[] {
  return [jobIdOf(row), deploymentIdOf(row)]
}
