import type { Assignment } from '../assignment.ts'
import type { AgentHost } from '../host.ts'

/** One step before any task of an allocation may begin. A failure ends the allocation. */
interface AllocationHook {
  readonly name: string
  beforeTasks(context: AllocationHookContext): Promise<void>
}

interface AllocationHookContext {
  readonly assignment: Assignment
  readonly host: AgentHost
  endOf(allocationId: string): Promise<void>
  /** Fires when the allocation need not be set up any more. */
  readonly signal: AbortSignal
}

/** Reference scheduling §24: the start order. */
export const ALLOCATION_HOOKS: readonly AllocationHook[] = [
  { name: 'await-predecessors', beforeTasks: awaitPredecessors },
  { name: 'allocation-dir', beforeTasks: buildDirectory },
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
