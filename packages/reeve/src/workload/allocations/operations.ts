import type { NamespaceCapability, NodeStreamRequest, Task } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isClientTerminal,
  PERMISSION_DENIED,
  refusal,
  type AllocationRow,
  type Refusal,
  checkUuid,
  newEvaluation,
} from '../../model/index.ts'
import { type Change, namespacedKey, put, type Stamp, withDerivedRows } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'

interface ExecParams {
  readonly allocId: string
  readonly task: string
  readonly command: readonly string[]
  readonly tty: boolean
}

/** A validated exec request and the node that receives it. */
export interface PreparedExec {
  readonly nodeId: string
  readonly request: Extract<NodeStreamRequest, { verb: 'exec' }>
}

/** Drivers whose tasks have access to the node's file system: a command in them is not confined. */
const UNISOLATED_DRIVERS: ReadonlySet<string> = new Set(['raw_exec'])

/** Validates everything that does not need the node. */
export function prepareExec(
  context: WorkloadContext,
  caller: Caller,
  params: ExecParams,
): Result<PreparedExec, Refusal> {
  const found = findRunnableAllocation(context, caller, params.allocId)
  if (!found.ok) return found
  const task = findTask(context, found.value, params.task)
  if (!task.ok) return task
  return buildExecRequest(caller, found.value, { ...params, driver: task.value.Driver })
}

interface ActionParams {
  readonly namespace: string
  readonly jobId: string
  /** Allocation ID; if empty, any running allocation of the job that has the task. */
  readonly allocId: string
  readonly task: string
  readonly action: string
  readonly tty: boolean
}

/** Like `prepareExec`, with the command of a named job action. */
export function prepareAction(
  context: WorkloadContext,
  caller: Caller,
  params: ActionParams,
): Result<PreparedExec, Refusal> {
  const { namespace, jobId, task: taskName, action: actionName, tty } = params
  if (!caller.grants.allows(namespace, 'alloc-exec')) return err(PERMISSION_DENIED)
  const allocId = params.allocId || pickRunningAllocation(context, params)
  if (allocId === undefined)
    return err(refusal('invalid-input', `job ${JSON.stringify(jobId)} has no running allocation`))
  const found = findRunnableAllocation(context, caller, allocId)
  if (!found.ok) return found
  const row = found.value
  if (row.JobID !== jobId || row.Namespace !== namespace)
    return err(refusal('alloc-not-found', `Unknown allocation ${JSON.stringify(allocId)}`))
  const task = findTask(context, row, taskName)
  if (!task.ok) return task
  const action = (task.value.Actions ?? []).find(({ Name }) => Name === actionName)
  if (action === undefined)
    return err(refusal('invalid-input', `unknown action name ${JSON.stringify(actionName)}`))
  const command = [action.Command, ...(action.Args ?? [])]
  return buildExecRequest(caller, row, { task: taskName, command, tty, driver: task.value.Driver })
}

/** Returns the allocation, if a command may run in it now. */
function findRunnableAllocation(
  context: WorkloadContext,
  caller: Caller,
  allocId: string,
): Result<AllocationRow, Refusal> {
  if (!caller.grants.allowsInAnyNamespace('alloc-exec')) return err(PERMISSION_DENIED)
  const found = findAllocationOnNode(context, caller, { allocId, anyOf: ['alloc-exec'] })
  if (!found.ok || !isClientTerminal(found.value)) return found
  const { ID, ClientStatus } = found.value
  const text = `exec not possible, client status of allocation ${ID} is ${ClientStatus}`
  return err(refusal('invalid-input', text))
}

function findTask(
  { view }: WorkloadContext,
  row: AllocationRow,
  name: string,
): Result<Task, Refusal> {
  if (name === '') return err(refusal('invalid-input', 'must provide task name'))
  const group = view.jobVersionOf(row)?.TaskGroups.find(({ Name }) => Name === row.TaskGroup)
  const task = group?.Tasks.find(({ Name }) => Name === name)
  if (task !== undefined) return ok(task)
  return err(refusal('invalid-input', `unknown task name ${JSON.stringify(name)}`))
}

interface ExecCommand {
  readonly task: string
  readonly command: readonly string[]
  readonly tty: boolean
  readonly driver: string
}

function buildExecRequest(
  caller: Caller,
  row: AllocationRow,
  { task, command, tty, driver }: ExecCommand,
): Result<PreparedExec, Refusal> {
  if (command.length === 0) return err(refusal('invalid-input', 'command is not present'))
  // Tasks of `raw_exec` require a second capability.
  if (UNISOLATED_DRIVERS.has(driver) && !caller.grants.allows(row.Namespace, 'alloc-node-exec'))
    return err(PERMISSION_DENIED)
  const request = { verb: 'exec', allocation: row.ID, task, command, tty } as const
  return ok({ nodeId: row.NodeID, request })
}

function pickRunningAllocation(
  { store }: WorkloadContext,
  { namespace, jobId, task }: ActionParams,
): string | undefined {
  const rows = store.tables.allocations.rowsByIndex('job', namespacedKey(namespace, jobId))
  const running = rows.filter(
    (row) => row.ClientStatus === 'running' && Object.hasOwn(row.TaskStates ?? {}, task),
  )
  return running.map((row) => row.ID).toSorted()[0]
}

interface AllocationAccess {
  readonly allocId: string
  /** Capabilities of which the caller needs one, in the namespace of the allocation. */
  readonly anyOf: readonly NamespaceCapability[]
}

/** Finds an allocation for a request to its node. */
export function findAllocationOnNode(
  { store: { tables } }: WorkloadContext,
  caller: Caller,
  { allocId, anyOf }: AllocationAccess,
): Result<AllocationRow, Refusal> {
  const id = checkUuid('alloc', allocId)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  const row = tables.allocations.find(id.value)
  if (row === undefined)
    return err(refusal('alloc-not-found', `Unknown allocation ${JSON.stringify(id.value)}`))
  if (!anyOf.some((capability) => caller.grants.allows(row.Namespace, capability)))
    return err(PERMISSION_DENIED)
  if (tables.nodes.find(row.NodeID) === undefined) return err(unknownNode(row.NodeID))
  return ok(row)
}

export function unknownNode(nodeId: string): Refusal {
  return refusal('node-not-found', `Unknown node ${JSON.stringify(nodeId)}`)
}

interface StopAllocationRequest {
  readonly allocId: string
  /** Skip the shutdown delays of group and tasks. */
  readonly noShutdownDelay: boolean
  /** Count the replacement as a reschedule. */
  readonly reschedule: boolean
}

interface StopAllocationResult {
  /** Empty if the job no longer exists. */
  readonly evalId: string
  readonly index: number
}

/**
 * Marks an allocation to be migrated and creates an evaluation of its job, which stops the
 * allocation and places a replacement. A terminal allocation is accepted and has no effect.
 */
export async function stopAllocation(
  { store, view, ids }: WorkloadContext,
  { grants, by }: RequestCaller,
  request: StopAllocationRequest,
): Promise<Result<StopAllocationResult, Refusal>> {
  const id = checkUuid('alloc', request.allocId)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  const row = store.tables.allocations.find(id.value)
  if (row === undefined) return err(refusal('alloc-not-found', 'allocation not found'))
  // Allocation IDs are global, so permissions are checked in the allocation's own namespace.
  if (!grants.allows(row.Namespace, 'alloc-lifecycle')) return err(PERMISSION_DENIED)
  const job =
    store.tables.jobs.find(namespacedKey(row.Namespace, row.JobID)) ?? view.jobVersionOf(row)
  const evalId = job === undefined ? '' : ids.uuid()
  const { index, durable } = store.commit({
    by,
    cause: 'AllocationUpdateDesiredStatus',
    changes: (stamp) => {
      const changes: Change[] = [put('allocations', withMigrateTransition(row, request, stamp))]
      if (job !== undefined)
        changes.push(
          put(
            'evaluations',
            newEvaluation(job, {
              id: evalId,
              trigger: 'alloc-stop',
              timeMs: stamp.timeMs,
              jobModifyIndex: job.JobModifyIndex,
            }),
          ),
        )
      return withDerivedRows(store.tables, changes)
    },
  })
  await durable
  return ok({ evalId, index })
}

function withMigrateTransition(
  row: AllocationRow,
  { noShutdownDelay, reschedule }: StopAllocationRequest,
  { index, timeMs }: Stamp,
): AllocationRow {
  return {
    ...row,
    DesiredTransition: {
      ...row.DesiredTransition,
      Migrate: true,
      ...(noShutdownDelay ? { NoShutdownDelay: true } : {}),
      ...(reschedule ? { Reschedule: true } : {}),
    },
    AllocModifyIndex: index,
    ModifyTime: nsFromMs(timeMs),
  }
}
