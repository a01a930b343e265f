import type { EventTopic, EventType, GovernanceTopic } from '@reeve/contract'
import type { CommittedRow, EventMark } from './commit.ts'
import type { TableName } from './tables.ts'

/** What caused a commit, as the event stream names it. */
export type Cause = EventType

interface EventSource {
  readonly topic: EventTopic
  readonly key: (row: object) => string
  readonly filterKeys: (row: object) => readonly string[] | null
  /** Rows that are forgotten for newer ones: nothing happened when they go. */
  readonly endsSilently?: true
}

/** A row just applied, with its decoded form; of a deleted row, the last one. */
export interface AppliedRow {
  readonly committed: CommittedRow
  readonly row: object | undefined
}

/** Tables not named here emit nothing. */
const SOURCES: { readonly [N in TableName]?: EventSource } = {
  acl_policies: { topic: 'ACLPolicy', key: text('Name'), filterKeys: none },
  acl_roles: { topic: 'ACLRole', key: text('ID'), filterKeys: (row) => [text('Name')(row)] },
  acl_tokens: { topic: 'ACLToken', key: text('AccessorID'), filterKeys: none },
  allocations: { topic: 'Allocation', key: text('ID'), filterKeys: jobAndDeployment },
  deployments: { topic: 'Deployment', key: text('ID'), filterKeys: (row) => [text('JobID')(row)] },
  evaluations: { topic: 'Evaluation', key: text('ID'), filterKeys: jobAndDeployment },
  host_volumes: {
    topic: 'HostVolume',
    key: text('ID'),
    filterKeys: (row) => ['ID', 'Name', 'PluginID'].map((name) => text(name)(row)),
  },
  jobs: { topic: 'Job', key: text('ID'), filterKeys: none },
  node_pools: { topic: 'NodePool', key: text('Name'), filterKeys: none },
  nodes: { topic: 'Node', key: text('ID'), filterKeys: none },
  service_registrations: {
    topic: 'Service',
    key: text('ID'),
    filterKeys: (row) => [text('JobID')(row), text('ServiceName')(row)],
  },
  variables: { topic: 'Variable', key: text('Path'), filterKeys: none },
  policy_verdicts: {
    topic: 'PolicyVerdict',
    key: text('ID'),
    filterKeys: (row) => [text('JobID')(row)],
    endsSilently: true,
  },
  organizations: { topic: 'Organization', key: text('id'), filterKeys: organizationAndName('id') },
  policy_checks: ofRun('PolicyCheck'),
  policy_evaluations: ofRun('PolicyEvaluation'),
  policy_set_outcomes: ofRun('PolicySetOutcome'),
  policy_sets: governed('PolicySet'),
  projects: governed('Project'),
  run_policies: governed('Policy'),
  runs: {
    topic: 'Run',
    key: text('id'),
    filterKeys: (row) => [text('organizationId')(row), text('workspaceId')(row)],
  },
  workspaces: governed('Workspace'),
}

/** First the organization, by which readers with an organization's token are told apart. */
function governed(topic: GovernanceTopic): EventSource {
  return { topic, key: text('id'), filterKeys: organizationAndName('organizationId') }
}

/** What policies said of a run; found by the run and its workspace too. */
function ofRun(topic: GovernanceTopic): EventSource {
  const keys = ['organizationId', 'runId', 'workspaceId'].map(text)
  return { topic, key: text('id'), filterKeys: (row) => keys.map((key) => key(row)) }
}

function organizationAndName(organization: string): EventSource['filterKeys'] {
  return (row) => [text(organization)(row), text('name')(row)]
}

const GOVERNED: ReadonlySet<string> = new Set<GovernanceTopic>([
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

/** The organization that an event belongs to; undefined when it is about no governed record. */
export function organizationOfEvent({ Topic, FilterKeys }: EventMark): string | undefined {
  return GOVERNED.has(Topic) ? FilterKeys?.[0] : undefined
}

/** The events of a commit, one for each row that somebody may follow. */
export function eventMarks(
  cause: Cause,
  rows: readonly AppliedRow[],
  commitIndex: number,
): readonly EventMark[] {
  const marks: EventMark[] = []
  rows.forEach(({ committed, row }, position) => {
    // The store applies rows of its own tables only.
    const source = SOURCES[committed.table as TableName]
    if (source === undefined || row === undefined) return
    const isNew = committed.header?.[0] === commitIndex
    const isDeleted = committed.header === undefined
    if (isDeleted && source.endsSilently === true) return
    marks.push({
      Topic: source.topic,
      Type: typeOf(cause, source.topic, { row, isNew, isDeleted }),
      Key: source.key(row),
      Namespace: namespaceOf(row),
      FilterKeys: source.filterKeys(row),
      row: position,
    })
  })
  return marks
}

/**
 * An evaluation is always EvaluationUpdated, an allocation says whether it is new,
 * changed by its node or by the servers; any other row carries the type of the operation that
 * caused the commit.
 */
function typeOf(cause: Cause, topic: EventTopic, { row, isNew, isDeleted }: Written): EventType {
  if (topic === 'Evaluation') return 'EvaluationUpdated'
  if (isGoverned(topic))
    return isDeleted ? `${topic}Deleted` : isNew ? `${topic}Created` : `${topic}Updated`
  // A service goes with its allocation, whatever ended that; a variable knows one type.
  if (topic === 'Service') return isDeleted ? 'ServiceDeregistration' : 'ServiceRegistration'
  if (topic === 'Variable') return 'VariableUpdated'
  if (topic === 'HostVolume') return isDeleted ? 'HostVolumeDeleted' : 'HostVolumeRegistered'
  if (topic === 'PolicyVerdict')
    return text('Result')(row) === 'denied' ? 'PolicyDenied' : 'PolicyOverridden'
  // What a node says of its allocations reaches a deployment as their health.
  if (topic === 'Deployment' && cause === 'AllocationUpdated') return 'DeploymentAllocHealth'
  // A deployment that fails may register an earlier version again.
  if (topic === 'Job' && ROLLOUT_CAUSES.has(cause) && isNewVersion(row)) return 'JobRegistered'
  if (topic === 'Job' && cause === 'NodeEvent' && isNewlyQuarantined(row)) return 'JobQuarantined'
  // A job may be placed by the commit that registers it: what else that changes is its plan's, also
  // the status of jobs whose allocations make room.
  const isPlanned = topic === 'Deployment' || (topic === 'Job' && !isNewVersion(row))
  if (isPlanned && cause === 'JobRegistered') return 'PlanResult'
  if (topic !== 'Allocation') return cause
  return allocationType(cause, { row, isNew })
}

function isGoverned(topic: EventTopic): topic is GovernanceTopic {
  return GOVERNED.has(topic)
}

interface Written {
  readonly row: object
  readonly isNew: boolean
  readonly isDeleted: boolean
}

const PLACING_CAUSES: ReadonlySet<Cause> = new Set(['PlanResult', 'JobRegistered'])

/** What the servers want of an allocation is their wish, whichever operation it came from. */
function allocationType(
  cause: Cause,
  { row, isNew }: { readonly row: object; readonly isNew: boolean },
): EventType {
  if (isNew) return 'AllocationCreated'
  if (cause === 'AllocationUpdated') return cause
  const goesOn = PLACING_CAUSES.has(cause) && text('DesiredStatus')(row) === 'run'
  return goesOn ? 'PlanResult' : 'AllocationUpdateDesiredStatus'
}

const ROLLOUT_CAUSES: ReadonlySet<Cause> = new Set([
  'DeploymentStatusUpdate',
  'DeploymentAllocHealth',
])

/** Written as a job anew, and not only with another status. */
function isNewVersion(row: object): boolean {
  return Reflect.get(row, 'JobModifyIndex') === Reflect.get(row, 'ModifyIndex')
}

/** By this very commit (decision 0061). */
function isNewlyQuarantined(row: object): boolean {
  const quarantine: unknown = Reflect.get(row, 'Quarantine')
  if (typeof quarantine !== 'object' || quarantine === null) return false
  return Reflect.get(quarantine, 'CreateIndex') === Reflect.get(row, 'ModifyIndex')
}

function text(name: string): (row: object) => string {
  return (row) => {
    const value: unknown = Reflect.get(row, name)
    return typeof value === 'string' ? value : ''
  }
}

// Made once: every row that is committed passes here.
const namespaceOf = text('Namespace')
const jobIdOf = text('JobID')
const deploymentIdOf = text('DeploymentID')

function none(): null {
  return null
}

/** A missing deployment id stays as an empty string. */
function jobAndDeployment(row: object): readonly string[] {
  return [jobIdOf(row), deploymentIdOf(row)]
}
