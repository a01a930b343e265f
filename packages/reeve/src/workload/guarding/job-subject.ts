import { POLICY_VARIABLE_PREFIX, type Job } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { LIMITS } from '../../model/index.ts'
import type { JobSubject, PlainObject } from '../../policy/index.ts'
import { namespacedKey } from '../../state/index.ts'
import { ANONYMOUS_TOKEN, tokenFilterView } from '../acl/token-view.ts'
import type { WorkloadContext } from '../context.ts'
import { openItems } from '../variables/variable-items.ts'
import type { SubjectNeeds } from './policy-guard.ts'

/** A submitted job and the registered one. */
export interface JudgedJob {
  /** Canonical form, as it would be stored. */
  readonly job: Job
  /** Undefined for a new job. */
  readonly existing: Job | undefined
}

/** Returns the input of policies for a submission. */
export function jobSubject(
  context: WorkloadContext,
  caller: Caller,
  { job, existing, readsVariables, mayReadOf }: JudgedJob & SubjectNeeds,
): JobSubject {
  return {
    kind: 'job',
    job: plain(job),
    existingJob: existing === undefined ? undefined : plain(existing),
    namespace: job.Namespace,
    token: tokenOf(context, caller),
    variables: readsVariables ? policyVariables(context, job.Namespace, mayReadOf) : new Map(),
  }
}

function plain(record: object): PlainObject {
  // A record of the API is plain JSON data.
  return record as PlainObject
}

function tokenOf(context: WorkloadContext, { accessorId, type }: Caller): PlainObject | undefined {
  if (type === 'disabled') return undefined
  const row = context.store.tables.acl_tokens.find(accessorId)
  return plain(row === undefined ? ANONYMOUS_TOKEN : tokenFilterView(context, row))
}

/**
 * Returns variables by `<namespace>@<path>`: those of the job's namespace first, then those of
 * namespaces that belong to no other organization than that of the policies.
 */
function policyVariables(
  context: WorkloadContext,
  own: string,
  mayReadOf: SubjectNeeds['mayReadOf'],
): ReadonlyMap<string, PlainObject> {
  const { namespaces, variables } = context.store.tables
  const found = new Map<string, PlainObject>()
  let chars = 0
  const others = [...namespaces.keys()].filter((name) => name !== own && mayReadOf(name))
  for (const namespace of [own, ...others.toSorted(compareText)]) {
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
