import type { AllocationStub, ClientStatus } from '@reeve/contract'

type DrawnAllocation = Pick<AllocationStub, 'ID' | 'Namespace' | 'ClientStatus' | 'Resources'>

const STATUS_ORDER: Readonly<Record<ClientStatus, number>> = {
  running: 0,
  pending: 1,
  unknown: 2,
  complete: 3,
  failed: 4,
  lost: 5,
}

/** Sorts allocations like `Loads` of the contract's TopologyNode, to map bars to allocations. */
export function inDrawingOrder<One extends DrawnAllocation>(
  allocations: readonly One[],
): readonly One[] {
  return allocations.toSorted(
    (a, b) =>
      compare(a.Namespace, b.Namespace) ||
      STATUS_ORDER[a.ClientStatus] - STATUS_ORDER[b.ClientStatus] ||
      (b.Resources?.MemoryMB ?? 0) - (a.Resources?.MemoryMB ?? 0) ||
      (b.Resources?.CPU ?? 0) - (a.Resources?.CPU ?? 0) ||
      compare(a.ID, b.ID),
  )
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
