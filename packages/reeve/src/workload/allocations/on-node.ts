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

export interface AllocationQuestion {
  readonly allocId: string
  /** Any one of them in the allocation's own namespace. */
  readonly anyOf: readonly NamespaceCapability[]
}

/** The allocation that something is asked of its node about. */
export function findAllocationOnNode(
  { store: { tables } }: WorkloadContext,
  caller: Caller,
  { allocId, anyOf }: AllocationQuestion,
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
