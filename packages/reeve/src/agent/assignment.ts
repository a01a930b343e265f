import {
  AllocationRecord,
  DisconnectStrategy,
  Job,
  MigrateStrategy,
  ParameterizedJobConfig,
  Resources,
  Service,
  ServiceCheck,
  Task,
  TaskGroup,
  type Shape,
} from '@reeve/contract'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { err, ok, type Result } from '@reeve/kit/result.ts'

const AgentCheck = Type.Object({
  ...Type.Pick(ServiceCheck, [
    'Name',
    'Type',
    'Command',
    'Args',
    'Path',
    'Protocol',
    'PortLabel',
    'AddressMode',
    'Interval',
    'Timeout',
    'InitialStatus',
    'Method',
    'Header',
    'Body',
    'TLSServerName',
    'TLSSkipVerify',
    'CheckRestart',
    'TaskName',
    'SuccessBeforePassing',
    'FailuresBeforeCritical',
    'OnUpdate',
  ]).properties,
  // Not in what an older agent left on the disk.
  ...Type.Partial(Type.Pick(ServiceCheck, ['GRPCService', 'GRPCUseTLS'])).properties,
})
export type AgentCheck = Shape<typeof AgentCheck>

const AgentService = Type.Object({
  ...Type.Pick(Service, [
    'Name',
    'PortLabel',
    'AddressMode',
    'Address',
    'Tags',
    'CanaryTags',
    'Provider',
    'TaskName',
    'OnUpdate',
  ]).properties,
  Checks: Type.Union([Type.Array(AgentCheck), Type.Null()]),
})
export type AgentService = Shape<typeof AgentService>
const Services = Type.Optional(Type.Union([Type.Array(AgentService), Type.Null()]))

/**
 * What the agent reads of a job, and no more: a server of another version may leave out or add any
 * other field and is still understood, and so is what an older agent left on the disk.
 */
const AgentTask = Type.Object({
  ...Type.Pick(Task, [
    'Name',
    'Driver',
    'User',
    'Config',
    'Env',
    'Meta',
    'KillTimeout',
    'KillSignal',
    'ShutdownDelay',
    'Leader',
    'Lifecycle',
    'LogConfig',
    'RestartPolicy',
    'DispatchPayload',
  ]).properties,
  Resources: Type.Object({
    ...Type.Pick(Resources, ['CPU', 'Cores', 'MemoryMB', 'MemoryMaxMB']).properties,
    ...Type.Partial(Type.Pick(Resources, ['SecretsMB'])).properties,
  }),
  // Not in what an older agent left on the disk.
  ...Type.Partial(Type.Pick(Task, ['Artifacts', 'Templates', 'VolumeMounts', 'Schedule']))
    .properties,
  Services,
})
export type AgentTask = Shape<typeof AgentTask>

/** What both ways of replacing allocations ask of the health of the new ones. */
const HealthBlock = Type.Pick(MigrateStrategy, ['HealthCheck', 'MinHealthyTime', 'HealthyDeadline'])
const OptionalHealthBlock = Type.Optional(Type.Union([HealthBlock, Type.Null()]))

const AgentTaskGroup = Type.Object({
  ...Type.Pick(TaskGroup, ['Name', 'Meta', 'Networks', 'ShutdownDelay', 'MaxRunDuration'])
    .properties,
  ...Type.Partial(Type.Pick(TaskGroup, ['EphemeralDisk', 'Volumes'])).properties,
  Update: OptionalHealthBlock,
  Migrate: OptionalHealthBlock,
  Services,
  Disconnect: Type.Optional(
    Type.Union([Type.Pick(DisconnectStrategy, ['StopOnClientAfter']), Type.Null()]),
  ),
  Tasks: Type.Array(AgentTask, { minItems: 1 }),
})
export type AgentTaskGroup = Shape<typeof AgentTaskGroup>

const AgentJob = Type.Object({
  ...Type.Pick(Job, ['ID', 'Name', 'ParentID', 'Type', 'Region', 'Payload', 'Meta']).properties,
  // Not in what an older agent left on the disk.
  ParameterizedJob: Type.Optional(
    Type.Union([Type.Pick(ParameterizedJobConfig, ['MetaOptional']), Type.Null()]),
  ),
  TaskGroups: Type.Array(AgentTaskGroup),
})
export type AgentJob = Shape<typeof AgentJob>

const AgentAllocation = Type.Object({
  ...Type.Pick(AllocationRecord, [
    'ID',
    'Name',
    'Namespace',
    'TaskGroup',
    'DesiredStatus',
    'DesiredDescription',
    'DesiredTransition',
    'ClientStatus',
    'PreviousAllocation',
    'PreemptedAllocations',
    'AllocatedResources',
    'AllocModifyIndex',
    'CreateTime',
  ]).properties,
  // Not in what an older agent left on the disk.
  ...Type.Partial(Type.Pick(AllocationRecord, ['DeploymentID', 'DeploymentStatus'])).properties,
})
export type AgentAllocation = Shape<typeof AgentAllocation>

/** An allocation of this node together with the version of the job that it runs. */
export interface Assignment {
  readonly allocation: AgentAllocation
  readonly job: AgentJob
  /** The group of the job that the allocation places. */
  readonly group: AgentTaskGroup
}

let compiled: ReturnType<typeof compileCheckers> | undefined

/** Compiled with the first assignment: that takes a tenth of the time in which a server starts. */
function compileCheckers() {
  return {
    entryChecker: Compile(Type.Object({ allocation: AgentAllocation, job: AgentJob })),
    allocationChecker: Compile(Type.Object({ allocation: AgentAllocation })),
  }
}

/** Entries of one message share their job, and a large one takes milliseconds to validate. */
const validJobs = new WeakMap<object, AgentJob>()

interface UnreadableAssignment {
  /** The allocation it was meant for; undefined when not even that can be told. */
  readonly id: string | undefined
  readonly message: string
}

/** Reads one entry of a `desired` message, or of the agent's own files. */
export function readAssignment(value: unknown): Result<Assignment, UnreadableAssignment> {
  const { entryChecker, allocationChecker } = (compiled ??= compileCheckers())
  const shared = findValidJob(value)
  if (shared !== undefined && allocationChecker.Check(value)) {
    return assignmentOf(value.allocation, shared)
  }
  if (entryChecker.Check(value)) {
    validJobs.set(value.job, value.job)
    return assignmentOf(value.allocation, value.job)
  }
  const [first] = entryChecker.Errors(value)
  const where = first === undefined || first.instancePath === '' ? 'the entry' : first.instancePath
  return err({ id: idOf(value), message: `${where} ${first?.message ?? 'is not readable'}` })
}

function findValidJob(value: unknown): AgentJob | undefined {
  const job = inner(value, 'job')
  return typeof job === 'object' && job !== null ? validJobs.get(job) : undefined
}

function assignmentOf(
  allocation: AgentAllocation,
  job: AgentJob,
): Result<Assignment, UnreadableAssignment> {
  // The identifier becomes a directory name.
  if (!UUID.test(allocation.ID))
    return err({ id: undefined, message: 'allocation.ID is not a UUID' })
  const group = job.TaskGroups.find((candidate) => candidate.Name === allocation.TaskGroup)
  if (group === undefined) {
    return err({
      id: allocation.ID,
      message: `the job has no group ${JSON.stringify(allocation.TaskGroup)}`,
    })
  }
  return ok({ allocation, job, group })
}

/** Of the job as JSON: how much work it is to write it, or to prepare one of its tasks. */
export function jobChars(job: AgentJob): number {
  const chars = charsOf.get(job) ?? JSON.stringify(job).length
  charsOf.set(job, chars)
  return chars
}

const charsOf = new WeakMap<AgentJob, number>()

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function idOf(value: unknown): string | undefined {
  const id: unknown = inner(inner(value, 'allocation'), 'ID')
  return typeof id === 'string' && UUID.test(id) ? id : undefined
}

function inner(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
