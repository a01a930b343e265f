import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { Assignment } from '../assignment.ts'
import type { AgentHost } from '../host.ts'
import { cniArguments, groupPorts, networkMode } from '../network/allocation-network.ts'
import { groupEnvironment } from '../task/environment.ts'
import { isDirectoryName } from '../task/task-name.ts'

/** One step before any task of an allocation may begin. A failure ends the allocation. */
interface AllocationHook {
  readonly name: string
  /** Also when an agent before this one has set the allocation up: what it made may be gone. */
  readonly always?: boolean
  beforeTasks(context: AllocationHookContext): Promise<void>
}

interface AllocationHookContext {
  readonly assignment: Assignment
  readonly host: AgentHost
  endOf(allocationId: string): Promise<void>
  /** Fires when the allocation need not be set up any more. */
  readonly signal: AbortSignal
}

/** The start order. */
export const ALLOCATION_HOOKS: readonly AllocationHook[] = [
  { name: 'await-predecessors', beforeTasks: awaitPredecessors },
  { name: 'allocation-dir', beforeTasks: buildDirectory },
  // Also for allocations of agents that left the directory open to all.
  { name: 'allocation-access', always: true, beforeTasks: limitAccess },
  { name: 'sticky-disk', beforeTasks: moveData },
  { name: 'cores', always: true, beforeTasks: reserveCores },
  { name: 'network', always: true, beforeTasks: setUpNetwork },
]

/** What this allocation replaces or pushed away must be gone first: it may hold the same ports. */
async function awaitPredecessors(context: AllocationHookContext): Promise<void> {
  const { PreviousAllocation, PreemptedAllocations } = context.assignment.allocation
  const predecessors = [PreviousAllocation, ...(PreemptedAllocations ?? [])].filter(
    (id) => id !== '',
  )
  const gone = Promise.all(predecessors.map((id) => context.endOf(id)))
  const { promise: stopped, resolve } = Promise.withResolvers<void>()
  context.signal.addEventListener('abort', () => resolve(), { once: true })
  await Promise.race([gone, stopped])
}

async function buildDirectory({ assignment, host }: AllocationHookContext): Promise<void> {
  await host.workspace.buildAllocation(assignment.allocation.ID)
}

/**
 * Isolated tasks and containers have the directories mounted for them by root. Only a task without
 * isolation that runs as another user than the agent walks to its directories by their paths.
 */
async function limitAccess({ assignment, host }: AllocationHookContext): Promise<void> {
  const { allocation, group } = assignment
  const isTraversable = group.Tasks.some(({ Driver, User }) => {
    return User !== '' && (host.drivers.get(Driver)?.isolation ?? 'none') === 'none'
  })
  await host.workspace.setTraversable(allocation.ID, isTraversable)
}

/**
 * Best effort. Data that cannot be moved must not keep the allocation from starting; it begins with
 * none.
 */
async function moveData({ assignment, host, signal }: AllocationHookContext): Promise<void> {
  const { allocation, group } = assignment
  const { PreviousAllocation: previous } = allocation
  const isKept = group.EphemeralDisk?.Sticky === true || group.EphemeralDisk?.Migrate === true
  if (previous === '' || !isKept) return
  const tasks = group.Tasks.map(({ Name }) => Name).filter(isDirectoryName)
  const { migrations } = host
  const isElsewhere = migrations?.isHere(previous) === false
  if (isElsewhere && !group.EphemeralDisk?.Migrate) return
  const moved = isElsewhere
    ? migrations.fetch(allocation.ID, tasks, signal)
    : host.workspace.moveData(previous, allocation.ID, tasks)
  await moved.catch((thrown: unknown) => {
    const fields = { allocation: allocation.ID, previous, error: errorMessage(thrown) }
    host.log.warn(fields, 'data of the previous allocation not moved')
  })
}

/** Other tasks leave the cores before the first task of this allocation starts. */
async function reserveCores({ assignment, host }: AllocationHookContext): Promise<void> {
  await host.cores?.reserve(assignment)
}

/** The machine's own network needs nothing here. */
async function setUpNetwork({ assignment, host }: AllocationHookContext): Promise<void> {
  const mode = networkMode(assignment.group)
  if (mode === 'host') return
  if (mode === 'none') return setUpAlone({ assignment, host })
  if (host.networks === undefined) {
    throw new Fault('network', `this node has no network of the mode ${JSON.stringify(mode)}`)
  }
  const { allocation, group } = assignment
  await host.networks.setUp({
    allocationId: allocation.ID,
    mode,
    ports: groupPorts(assignment),
    cniArgs: cniArguments(group, groupEnvironment(assignment, host).interpolator),
  })
}

/** An engine of containers keeps them off the network itself. */
async function setUpAlone({ assignment, host }: NetworkContext): Promise<void> {
  const drivers = assignment.group.Tasks.map(({ Driver }) => host.drivers.get(Driver))
  if (drivers.every((driver) => driver?.isolation === 'image')) return
  if (host.networks === undefined) {
    throw new Fault('network', 'this node cannot keep tasks off its own network')
  }
  await host.networks.setUpAlone(assignment.allocation.ID)
}

type NetworkContext = Pick<AllocationHookContext, 'assignment' | 'host'>

/** When nothing of the allocation runs any more. Failures are logged: nobody is left to wait. */
export async function tearDownNetwork({ assignment, host }: NetworkContext): Promise<void> {
  const { allocation, group } = assignment
  await host.networks?.tearDown(allocation.ID).catch((thrown: unknown) => {
    host.log.error(
      { allocation: allocation.ID, error: errorMessage(thrown) },
      'network not removed',
    )
  })
  if (['host', 'none'].includes(networkMode(group))) return
  for (const name of new Set(group.Tasks.map(({ Driver }) => Driver))) {
    const left = host.drivers.get(name)?.leaveNetwork?.(allocation.ID)
    await left?.catch((thrown: unknown) => {
      const fields = { allocation: allocation.ID, driver: name, error: errorMessage(thrown) }
      host.log.warn(fields, 'pause container not removed yet')
    })
  }
}
