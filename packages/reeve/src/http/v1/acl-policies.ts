import { v1Routes, type AclPolicy, type AclPolicyRecord, type AclPolicyStub } from '@reeve/contract'
import { NO_RULES, parseAclRules, rulesJson } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import {
  deletePolicy,
  mayReadPolicy,
  policyNamesOfCaller,
  visiblePolicies,
  writePolicy,
  type WorkloadContext,
} from '../../workload/index.ts'
import { EMPTY_RESPONSE, jsonItems } from '../answer.ts'
import {
  read,
  write,
  type Endpoint,
  type WatchedRead,
  type V1Request,
  type WriteResult,
  type WriteRequestOf,
} from './endpoint.ts'
import { requireBody } from './required-body.ts'
import { allowAll, management } from './requirements.ts'
import { listRows, readRow } from './row-reads.ts'
import { filterVisible, scanByKey } from './walks.ts'

const POLICY_NOT_FOUND: Refusal = refusal('acl-policy-not-found', 'ACL policy not found')

export function aclPolicyEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    read(v1Routes.listAclPolicies, allowAll, (request) => ok(listPolicies(context, request))),
    read(v1Routes.listOwnAclPolicies, allowAll, (request) => ok(listOwnPolicies(context, request))),
    read(v1Routes.readAclPolicy, allowAll, (request) => readPolicy(context, request)),
    write(v1Routes.writeAclPolicy, management, (request) => storePolicy(context, request)),
    write(v1Routes.deleteAclPolicy, management, async ({ caller, params }) => {
      const { index } = await deletePolicy(context, caller, params.policy_name)
      return ok({ index, response: EMPTY_RESPONSE })
    }),
  ]
}

function listPolicies(
  context: WorkloadContext,
  { caller, query }: V1Request<typeof v1Routes.listAclPolicies>,
): WatchedRead {
  const { acl_policies } = context.store.tables
  return listRows(acl_policies, () => {
    const isVisible = visiblePolicies(context, caller)
    return {
      scan: filterVisible(scanByKey(acl_policies, query.prefix ?? ''), (row) =>
        isVisible(row.Name),
      ),
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

function listOwnPolicies(
  context: WorkloadContext,
  { caller }: V1Request<typeof v1Routes.listOwnAclPolicies>,
): WatchedRead {
  const { acl_policies } = context.store.tables
  return {
    index: () => acl_policies.lastIndex,
    watch: [{ table: 'acl_policies' }],
    respond: () => {
      const names = [...policyNamesOfCaller(context, caller)].toSorted()
      return ok(jsonItems(names.flatMap((name) => acl_policies.rowJsonOf(name) ?? [])))
    },
  }
}

function readPolicy(
  context: WorkloadContext,
  { caller, params }: V1Request<typeof v1Routes.readAclPolicy>,
): Result<WatchedRead, Refusal> {
  const { acl_policies } = context.store.tables
  const name = params.policy_name
  if (!mayReadPolicy(context, caller, name)) return err(PERMISSION_DENIED)
  return ok(
    readRow(acl_policies, {
      key: name,
      notFound: POLICY_NOT_FOUND,
      render: (row) => policyView(context, row),
    }),
  )
}

/** Stored policies were valid when they were written; one that is not any more grants nothing. */
function policyView({ ruleAliases }: WorkloadContext, row: AclPolicyRecord): AclPolicy {
  const rules = parseAclRules(row.Rules, ruleAliases)
  return { ...row, RulesJSON: rulesJson(rules.ok ? rules.value : NO_RULES) }
}

async function storePolicy(
  context: WorkloadContext,
  { params, ...request }: WriteRequestOf<typeof v1Routes.writeAclPolicy>,
): Promise<Result<WriteResult, Refusal>> {
  const body = requireBody(request.body)
  if (!body.ok) return body
  // The path contains the name; a body may omit it.
  const Name = body.value.Name ?? params.policy_name
  if (Name !== params.policy_name)
    return err(refusal('invalid-input', 'ACL policy name does not match request path'))
  const written = await writePolicy(context, request.caller, { ...body.value, Name })
  return written.ok ? ok({ index: written.value.index, response: EMPTY_RESPONSE }) : written
}
