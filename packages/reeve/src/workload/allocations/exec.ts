import type { NodeStreamRequest, Task } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isClientTerminal,
  PERMISSION_DENIED,
  refusal,
  type AllocationRow,
  type Refusal,
} from '../../model/index.ts'
import { namespacedKey } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { findAllocationOnNode } from './on-node.ts'

export interface ExecParams {
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

export interface ActionParams {
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
