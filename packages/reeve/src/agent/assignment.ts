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
  type Infer,
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
  // Missing in files that an older agent wrote.
  ...Type.Partial(Type.Pick(ServiceCheck, ['GRPCService', 'GRPCUseTLS'])).properties,
})
export type AgentCheck = Infer<typeof AgentCheck>

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
export type AgentService = Infer<typeof AgentService>
const Services = Type.Optional(Type.Union([Type.Array(AgentService), Type.Null()]))

/**
 * The fields of a job that the agent reads. Servers of other versions may omit or add any other
 * field, and so may files that an older agent wrote.
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
  // Missing in files that an older agent wrote.
  ...Type.Partial(Type.Pick(Task, ['Artifacts', 'Templates', 'VolumeMounts', 'Schedule']))
    .properties,
  Services,
})
export type AgentTask = Infer<typeof AgentTask>

/** Health settings that `update` and `migrate` have in common. */
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
export type AgentTaskGroup = Infer<typeof AgentTaskGroup>

const AgentJob = Type.Object({
  ...Type.Pick(Job, ['ID', 'Name', 'ParentID', 'Type', 'Region', 'Payload', 'Meta']).properties,
  // Missing in files that an older agent wrote.
  ParameterizedJob: Type.Optional(
    Type.Union([Type.Pick(ParameterizedJobConfig, ['MetaOptional']), Type.Null()]),
  ),
  TaskGroups: Type.Array(AgentTaskGroup),
})
export type AgentJob = Infer<typeof AgentJob>

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
  // Missing in files that an older agent wrote.
  ...Type.Partial(Type.Pick(AllocationRecord, ['DeploymentID', 'DeploymentStatus'])).properties,
})
export type AgentAllocation = Infer<typeof AgentAllocation>

/** An allocation of this node together with the version of the job that it runs. */
export interface Assignment {
  readonly allocation: AgentAllocation
  readonly job: AgentJob
  /** The group of the job that the allocation places. */
  readonly group: AgentTaskGroup
}

let checkers: ReturnType<typeof compileCheckers> | undefined

/**
 * Compiles the checkers with the first assignment: compiling takes a tenth of the start time of a
 * server.
 */
function compileCheckers() {
  return {
    entryChecker: Compile(Type.Object({ allocation: AgentAllocation, job: AgentJob })),
    allocationChecker: Compile(Type.Object({ allocation: AgentAllocation })),
  }
}

/**
 * Jobs that were validated before. The entries of one message share their job, and validating a
 * large job takes milliseconds.
 */
const validJobs = new WeakMap<object, AgentJob>()

interface UnreadableAssignment {
  /** ID of the allocation; undefined if the entry has no readable ID. */
  readonly id: string | undefined
  readonly message: string
}

/** Parses one entry of a `desired` message or of a state file of the agent. */
export function readAssignment(value: unknown): Result<Assignment, UnreadableAssignment> {
  const { entryChecker, allocationChecker } = (checkers ??= compileCheckers())
  const cachedJob = findCachedJob(value)
  if (cachedJob !== undefined && allocationChecker.Check(value)) {
    return assignmentOf(value.allocation, cachedJob)
  }
  if (entryChecker.Check(value)) {
    validJobs.set(value.job, value.job)
    return assignmentOf(value.allocation, value.job)
  }
  const [firstError] = entryChecker.Errors(value)
  const path =
    firstError === undefined || firstError.instancePath === ''
      ? 'the entry'
      : firstError.instancePath
  return err({
    id: allocationIdOf(value),
    message: `${path} ${firstError?.message ?? 'is not readable'}`,
  })
}

function findCachedJob(value: unknown): AgentJob | undefined {
  const job = propertyOf(value, 'job')
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

/**
 * Length of the job as JSON, which estimates the work of storing it or of preparing one of its
 * tasks.
 */
export function jobJsonLength(job: AgentJob): number {
  const length = jobJsonLengths.get(job) ?? JSON.stringify(job).length
  jobJsonLengths.set(job, length)
  return length
}

const jobJsonLengths = new WeakMap<AgentJob, number>()

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function allocationIdOf(value: unknown): string | undefined {
  const id: unknown = propertyOf(propertyOf(value, 'allocation'), 'ID')
  return typeof id === 'string' && UUID.test(id) ? id : undefined
}

function propertyOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
