import {
  hasPolicySets,
  needsOverrideComment,
  readPolicyCode,
  setsForNamespace,
} from '../governance/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { PolicySource, WorkloadContext } from '../workload/index.ts'

/** Applies the policies of the governance API to jobs of the workload API. */
export function createPolicySource(host: Pick<WorkloadContext, 'store' | 'sealer'>): PolicySource {
  return {
    hasPolicies: () => hasPolicySets(host.store.tables),
    policySetsFor: (namespace) => setsForNamespace(host, namespace),
    organizationOf: (namespace) =>
      host.store.tables.project_namespaces.find(namespace)?.organizationId,
    requiresComment: (setId) => needsOverrideComment(host.store.tables, setId),
    readCode: (codeHash) => readCode(host, codeHash),
  }
}

async function readCode(
  { store }: Pick<WorkloadContext, 'store'>,
  codeHash: string,
): Promise<string | undefined> {
  // A blob is readable once it is durable, which may be shortly after the set that refers to it.
  await store.whenDurable()
  return await readPolicyCode(store, codeHash).catch((thrown: unknown) => {
    if (thrown instanceof Fault && thrown.kind === 'policy-code-gone') return undefined
    throw thrown
  })
}
