import { v1Routes, type AclPolicy, type AclPolicyRecord, type AclPolicyStub } from '@reeve/contract'
import { NO_RULES, parseAclRules, rulesJson } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import {
  deletePolicy,
  mayReadPolicy,
  ownPolicyNames,
  visiblePolicies,
  writePolicy,
  type WorkloadContext,
} from '../../workload/index.ts'
import { EMPTY, jsonItems } from '../answer.ts'
import {
  read,
  write,
  type Endpoint,
  type ReadPlan,
  type RequestOf,
  type Written,
  type WriteRequestOf,
} from './endpoint.ts'
import { requiredBody } from './required-body.ts'
import { anyone, management } from './requirements.ts'
import { listRows, readRow } from './row-reads.ts'
import { visible, walkKeys } from './walks.ts'

const POLICY_NOT_FOUND: Refusal = refusal('acl-policy-not-found', 'ACL policy not found')

export function aclPolicyEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    read(v1Routes.listAclPolicies, anyone, (request) => ok(listPolicies(context, request))),
    read(v1Routes.listOwnAclPolicies, anyone, (request) => ok(listOwn(context, request))),
    read(v1Routes.readAclPolicy, anyone, (request) => readPolicy(context, request)),
    write(v1Routes.writeAclPolicy, management, (request) => storePolicy(context, request)),
    write(v1Routes.deleteAclPolicy, management, async ({ caller, params }) => {
      const { index } = await deletePolicy(context, caller, params.policy_name)
      return ok({ index, answer: EMPTY })
    }),
  ]
}

function listPolicies(
  context: WorkloadContext,
  { caller, query }: RequestOf<typeof v1Routes.listAclPolicies>,
): ReadPlan {
  const { acl_policies } = context.store.tables
  return listRows(acl_policies, () => {
    const isVisible = visiblePolicies(context, caller)
    return {
      walk: visible(walkKeys(acl_policies, query.prefix ?? ''), (row) => isVisible(row.Name)),
      query: {},
      filter: {},
      stub: policyStub,
    }
  })
}

function policyStub(row: AclPolicyRecord): AclPolicyStub {
  const { Rules: _rules, ...stub } = row
  return stub
}

function listOwn(
  context: WorkloadContext,
  { caller }: RequestOf<typeof v1Routes.listOwnAclPolicies>,
): ReadPlan {
  const { acl_policies } = context.store.tables
  return {
    index: () => acl_policies.lastIndex,
    watch: [{ table: 'acl_policies' }],
    answer: () => {
      const names = [...ownPolicyNames(context, caller)].toSorted()
      return ok(jsonItems(names.flatMap((name) => acl_policies.bodyOf(name) ?? [])))
    },
  }
}

function readPolicy(
  context: WorkloadContext,
  { caller, params }: RequestOf<typeof v1Routes.readAclPolicy>,
): Result<ReadPlan, Refusal> {
  const { acl_policies } = context.store.tables
  const name = params.policy_name
  if (!mayReadPolicy(context, caller, name)) return err(PERMISSION_DENIED)
  return ok(readRow(acl_policies, { key: name, missing: POLICY_NOT_FOUND, show: policyView }))
}

/** A stored policy parsed when it was written; one that no longer does grants nothing. */
function policyView(row: AclPolicyRecord): AclPolicy {
  const rules = parseAclRules(row.Rules)
  return { ...row, RulesJSON: rulesJson(rules.ok ? rules.value : NO_RULES) }
}

async function storePolicy(
  context: WorkloadContext,
  { params, ...request }: WriteRequestOf<typeof v1Routes.writeAclPolicy>,
): Promise<Result<Written, Refusal>> {
  const body = requiredBody(request.body)
  if (!body.ok) return body
  // The path names it already; a body that says nothing else agrees.
  const Name = body.value.Name ?? params.policy_name
  if (Name !== params.policy_name)
    return err(refusal('invalid-input', 'ACL policy name does not match request path'))
  const written = await writePolicy(context, request.caller, { ...body.value, Name })
  return written.ok ? ok({ index: written.value.index, answer: EMPTY }) : written
}
