import { POLICY_VARIABLE_PREFIX, type Job } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { LIMITS } from '../../model/index.ts'
import type { JobInput, JsonObject } from '../../policy/index.ts'
import { namespacedKey } from '../../state/index.ts'
import { ANONYMOUS_TOKEN, tokenFilterView } from '../acl/token-view.ts'
import type { WorkloadContext } from '../context.ts'
import { openItems } from '../variables/variable-items.ts'
import type { PolicyInputOptions } from './policy-guard.ts'

/** A submitted job and the registered one. */
export interface JobChange {
  /** Canonical form, as it would be stored. */
  readonly job: Job
  /** Undefined for a new job. */
  readonly existing: Job | undefined
}

/** Returns the input of policies for a submission. */
export function buildPolicyInput(
  context: WorkloadContext,
  caller: Caller,
  { job, existing, readsVariables, mayReadNamespace }: JobChange & PolicyInputOptions,
): JobInput {
  return {
    kind: 'job',
    job: asPlainObject(job),
    existingJob: existing === undefined ? undefined : asPlainObject(existing),
    namespace: job.Namespace,
    token: tokenInput(context, caller),
    variables: readsVariables
      ? collectPolicyVariables(context, job.Namespace, mayReadNamespace)
      : new Map(),
  }
}

function asPlainObject(record: object): JsonObject {
  // A record of the API is plain JSON data.
  return record as JsonObject
}

function tokenInput(
  context: WorkloadContext,
  { accessorId, type }: Caller,
): JsonObject | undefined {
  if (type === 'disabled') return undefined
  const row = context.store.tables.acl_tokens.find(accessorId)
  return asPlainObject(row === undefined ? ANONYMOUS_TOKEN : tokenFilterView(context, row))
}

/**
 * Returns variables by `<namespace>@<path>`: those of the job's namespace first, then those of
 * namespaces that belong to no other organization than that of the policies.
 */
function collectPolicyVariables(
  context: WorkloadContext,
  jobNamespace: string,
  mayReadNamespace: PolicyInputOptions['mayReadNamespace'],
): ReadonlyMap<string, JsonObject> {
  const { namespaces, variables } = context.store.tables
  const found = new Map<string, JsonObject>()
  let chars = 0
  const others = [...namespaces.keys()].filter(
    (name) => name !== jobNamespace && mayReadNamespace(name),
  )
  for (const namespace of [jobNamespace, ...others.toSorted(compareText)]) {
    const prefix = namespacedKey(namespace, `${POLICY_VARIABLE_PREFIX}/`)
    for (const key of variables.keys(prefix)) {
      if (!key.startsWith(prefix)) break
      const row = variables.get(key)
      const items = openItems(context.sealer, row)
      chars += JSON.stringify(items).length
      // A variable beyond the limit is undefined to a policy, which then fails.
      if (found.size >= LIMITS.policyVariablesMax || chars > LIMITS.policyVariableCharsMax)
        return found
      found.set(`${namespace}@${row.Path}`, items)
    }
  }
  return found
}
