import type { NamespaceCapability } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  checkUuid,
  PERMISSION_DENIED,
  refusal,
  type AllocationRow,
  type Refusal,
} from '../../model/index.ts'
import type { WorkloadContext } from '../context.ts'

export interface AllocationAccess {
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
