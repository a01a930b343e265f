import {
  hasPolicies,
  needsOverrideComment,
  readPolicyCode,
  setsForNamespace,
} from '../governance/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { PolicySource, WorkloadContext } from '../workload/index.ts'

/** The policies of the governance API guard the jobs of the workload API. */
export function createPolicySource(host: Pick<WorkloadContext, 'store' | 'sealer'>): PolicySource {
  return {
    hasPolicies: () => hasPolicies(host.store.tables),
    setsFor: (namespace) => setsForNamespace(host, namespace),
    ownerOf: (namespace) => host.store.tables.project_namespaces.find(namespace)?.organizationId,
    needsComment: (setId) => needsOverrideComment(host.store.tables, setId),
    readCode: (codeHash) => readCode(host, codeHash),
  }
}

async function readCode(
  { store }: Pick<WorkloadContext, 'store'>,
  codeHash: string,
): Promise<string | undefined> {
  // A blob can be read when it is durable; the set that names it is there a little earlier.
  await store.settled()
  return await readPolicyCode(store, codeHash).catch((thrown: unknown) => {
    if (thrown instanceof Fault && thrown.kind === 'policy-code-gone') return undefined
    throw thrown
  })
}
