import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { Assignment } from '../assignment.ts'
import type { AgentContext } from '../agent-context.ts'
import { resolveCniArguments, groupPortsOf, networkModeOf } from '../network/allocation-network.ts'
import { buildGroupEnvironment } from '../task/environment.ts'
import { isValidTaskDirectoryName } from '../store/workspace.ts'

/** A step before the tasks of an allocation start. A failure fails the allocation. */
interface AllocationHook {
  readonly name: string
  /** Also runs when an allocation is restored: what the hook created may be gone. */
  readonly runsOnRestore?: boolean
  prepare(context: AllocationHookContext): Promise<void>
}

interface AllocationHookContext {
  readonly assignment: Assignment
  readonly agent: AgentContext
  awaitTermination(allocationId: string): Promise<void>
  /** Aborted when the allocation no longer has to be set up. */
  readonly signal: AbortSignal
}

/** All hooks, in the order in which they run. */
export const ALLOCATION_HOOKS: readonly AllocationHook[] = [
  { name: 'await-predecessors', prepare: awaitPredecessors },
  { name: 'allocation-dir', prepare: buildDirectory },
  // Also runs for allocations of older agents, which left the directory world-readable.
  { name: 'allocation-access', runsOnRestore: true, prepare: setDirectoryAccess },
  { name: 'sticky-disk', prepare: migrateData },
  { name: 'cores', runsOnRestore: true, prepare: reserveCores },
  { name: 'network', runsOnRestore: true, prepare: setUpNetwork },
]

/**
 * Waits until the replaced and preempted allocations have terminated: they may use the same ports.
 */
async function awaitPredecessors(context: AllocationHookContext): Promise<void> {
  const { PreviousAllocation, PreemptedAllocations } = context.assignment.allocation
  const predecessors = [PreviousAllocation, ...(PreemptedAllocations ?? [])].filter(
    (id) => id !== '',
  )
  const terminated = Promise.all(predecessors.map((id) => context.awaitTermination(id)))
  const { promise: aborted, resolve } = Promise.withResolvers<void>()
  context.signal.addEventListener('abort', () => resolve(), { once: true })
  await Promise.race([terminated, aborted])
}

async function buildDirectory({ assignment, agent }: AllocationHookContext): Promise<void> {
  await agent.workspace.createAllocationDirs(assignment.allocation.ID)
}

/**
 * Isolated tasks and containers get their directories mounted by root. Only a task without
 * isolation that runs as another user than the agent accesses its directories by path.
 */
async function setDirectoryAccess({ assignment, agent }: AllocationHookContext): Promise<void> {
  const { allocation, group } = assignment
  const isTraversable = group.Tasks.some(({ Driver, User }) => {
    return User !== '' && (agent.drivers.get(Driver)?.isolation ?? 'none') === 'none'
  })
  await agent.workspace.setTraversable(allocation.ID, isTraversable)
}

/**
 * Migrates or moves the data of the previous allocation, best effort: an allocation whose data
 * cannot be moved starts without it.
 */
async function migrateData({ assignment, agent, signal }: AllocationHookContext): Promise<void> {
  const { allocation, group } = assignment
  const { PreviousAllocation: previous } = allocation
  const keepsData = group.EphemeralDisk?.Sticky === true || group.EphemeralDisk?.Migrate === true
  if (previous === '' || !keepsData) return
  const tasks = group.Tasks.map(({ Name }) => Name).filter(isValidTaskDirectoryName)
  const { migrations } = agent
  const isOnOtherNode = migrations?.isLocal(previous) === false
  if (isOnOtherNode && !group.EphemeralDisk?.Migrate) return
  const migration = isOnOtherNode
    ? migrations.fetch(allocation.ID, tasks, signal)
    : agent.workspace.adoptData(previous, allocation.ID, tasks)
  await migration.catch((thrown: unknown) => {
    const fields = { allocation: allocation.ID, previous, error: errorMessage(thrown) }
    agent.log.warn(fields, 'data of the previous allocation not moved')
  })
}

/** Waits until other tasks have left the reserved cores. */
async function reserveCores({ assignment, agent }: AllocationHookContext): Promise<void> {
  await agent.coreReservations?.reserve(assignment)
}

/** Sets up the network of the group. The host network needs no setup. */
async function setUpNetwork({ assignment, agent }: AllocationHookContext): Promise<void> {
  const mode = networkModeOf(assignment.group)
  if (mode === 'host') return
  if (mode === 'none') return setUpLoopbackOnly({ assignment, agent })
  if (agent.networks === undefined) {
    throw new Fault('network', `this node has no network of the mode ${JSON.stringify(mode)}`)
  }
  const { allocation, group } = assignment
  await agent.networks.setUp({
    allocationId: allocation.ID,
    mode,
    ports: groupPortsOf(assignment),
    cniArgs: resolveCniArguments(group, buildGroupEnvironment(assignment, agent).interpolator),
  })
}

/** Sets up a loopback-only network. A container engine isolates its containers itself. */
async function setUpLoopbackOnly({ assignment, agent }: NetworkContext): Promise<void> {
  const drivers = assignment.group.Tasks.map(({ Driver }) => agent.drivers.get(Driver))
  if (drivers.every((driver) => driver?.isolation === 'image')) return
  if (agent.networks === undefined) {
    throw new Fault('network', 'this node cannot keep tasks off its own network')
  }
  await agent.networks.setUpLoopbackOnly(assignment.allocation.ID)
}

type NetworkContext = Pick<AllocationHookContext, 'assignment' | 'agent'>

/**
 * Tears the network down after all tasks have ended. Failures are only logged, because nothing
 * waits for the result.
 */
export async function tearDownNetwork({ assignment, agent }: NetworkContext): Promise<void> {
  const { allocation, group } = assignment
  await agent.networks?.tearDown(allocation.ID).catch((thrown: unknown) => {
    agent.log.error(
      { allocation: allocation.ID, error: errorMessage(thrown) },
      'network not removed',
    )
  })
  if (['host', 'none'].includes(networkModeOf(group))) return
  for (const name of new Set(group.Tasks.map(({ Driver }) => Driver))) {
    const removal = agent.drivers.get(name)?.leaveNetwork?.(allocation.ID)
    await removal?.catch((thrown: unknown) => {
      const fields = { allocation: allocation.ID, driver: name, error: errorMessage(thrown) }
      agent.log.warn(fields, 'pause container not removed yet')
    })
  }
}
