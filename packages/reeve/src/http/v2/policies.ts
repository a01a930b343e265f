import { v2 } from '@reeve/contract'
import {
  createPolicy,
  deletePolicy,
  draftPolicyProblems,
  findPolicy,
  findPolicyCode,
  findPolicySeat,
  listPolicies,
  policyFile,
  policyVersions,
  updatePolicy,
  uploadPolicyCode,
  type GovernanceContext,
  type SeenPolicy,
} from '../../governance/index.ts'
import { err, ok } from '@reeve/kit/result.ts'
import { UNSEEN } from '../../model/index.ts'
import { answer, NO_CONTENT, paged, single, whole, windowOf } from './documents.ts'
import { memberAt, type DraftRule } from './draft.ts'
import {
  endpoint,
  type Outcome,
  type Resource,
  type V2Endpoint,
  type V2Request,
} from './endpoint.ts'
import {
  createdPolicyResource,
  policyResource,
  policySetsOf,
  policyVersionResource,
} from './resources/policy.ts'
import { policySetResource } from './resources/policy-set.ts'

const { v2Routes, POLICY_INCLUDES } = v2

const newPolicyRule: DraftRule = ({ body, isSound }) => {
  const at = '/data/attributes'
  // The members that are read are valid, and have the types of the schema.
  const attributes = (memberAt(body, at) ?? {}) as Partial<NewPolicyAttributes>
  return draftPolicyProblems(attributes, (...names) =>
    names.every((name) => isSound(`${at}/${name}`)),
  )
}

type NewPolicyAttributes = v2.RunPolicyCreateRequest['data']['attributes']

export function policyEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  const includes = { includes: POLICY_INCLUDES }
  return [
    endpoint(
      v2Routes.createPolicy,
      async ({ caller, params, body }) =>
        answer(
          await createPolicy(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          // 200, not 201.
          (seen) => single(createdPolicyResource(tables, seen)),
        ),
      {
        guard: ({ caller, params }) =>
          findPolicySeat(context, caller, {
            organizationName: params.organization_name,
            right: 'update',
          }),
        draftRule: newPolicyRule,
      },
    ),
    endpoint(
      v2Routes.listOrganizationPolicies,
      (request) => answerList(context, request),
      includes,
    ),
    endpoint(
      v2Routes.readPolicy,
      (request) =>
        answer(find(context, request, 'read'), (seen) =>
          single(policyResource(tables, seen), includedIn(context, [seen], request.includes)),
        ),
      includes,
    ),
    endpoint(
      v2Routes.updatePolicy,
      async ({ caller, params, body }) =>
        answer(
          await updatePolicy(context, caller, { policyId: params.policy_id, data: body.data }),
          (seen) => single(policyResource(tables, seen)),
        ),
      { guard: (request) => find(context, request, 'update') },
    ),
    endpoint(v2Routes.deletePolicy, async ({ caller, params }) =>
      answer(await deletePolicy(context, caller, params.policy_id), () => NO_CONTENT),
    ),
    ...codeEndpoints(context),
  ]
}

function codeEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  return [
    endpoint(
      v2Routes.uploadPolicy,
      async ({ caller, params, query, body }) =>
        answer(
          await uploadPolicyCode(context, caller, {
            policyId: params.policy_id,
            bytes: body,
            isStrict: query.validate === 'strict',
          }),
          (seen) => single(policyResource(tables, seen)),
        ),
      {
        guard: (request) => find(context, request, 'update'),
      },
    ),
    endpoint(v2Routes.downloadPolicy, (request) => download(context, request)),
    endpoint(v2Routes.listPolicyVersions, (request) =>
      answer(find(context, request, 'read'), ({ policy }) =>
        whole(policyVersions(tables, policy.id).map(policyVersionResource)),
      ),
    ),
  ]
}

type PolicyRequest = Pick<V2Request<typeof v2Routes.readPolicy>, 'caller' | 'params'>

function find(
  context: GovernanceContext,
  { caller, params }: PolicyRequest,
  right: 'read' | 'update',
) {
  return findPolicy(context, caller, { policyId: params.policy_id, right })
}

function answerList(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.listOrganizationPolicies>,
): Outcome {
  const { caller, params, query, page, includes } = request
  const found = listPolicies(context, caller, {
    organizationName: params.organization_name,
    part: query['search[name]'],
    kind: query['filter[kind]'],
    sort: query.sort ?? 'name',
    ...windowOf(page),
  })
  return answer(found, ({ policies, total }) =>
    paged(request, {
      items: policies.map((seen) => policyResource(context.store.tables, seen)),
      total,
      ...includedIn(context, policies, includes),
    }),
  )
}

/** Returns the included policy sets. The permission to read policies also covers their sets. */
function includedIn(
  { store }: GovernanceContext,
  policies: readonly SeenPolicy[],
  includes: ReadonlySet<string>,
): { readonly included?: readonly Resource[] } {
  if (!includes.has('policy_sets')) return {}
  const { tables } = store
  return {
    included: policies.flatMap((seen) =>
      policySetsOf(tables, seen.policy.id).map((id) =>
        policySetResource(tables, { ...seen, set: tables.policy_sets.get(id) }),
      ),
    ),
  }
}

async function download(
  context: GovernanceContext,
  { caller, params, query, headers }: V2Request<typeof v2Routes.downloadPolicy>,
): Promise<Outcome> {
  const found = findPolicyCode(context, caller, {
    policyId: params.policy_id,
    versionId: query.version,
  })
  if (!found.ok) return found
  const { sha256, policy, read } = found.value
  const etag = `"${sha256}"`
  if (isNamed(headers['if-none-match'], etag))
    return ok({ kind: 'empty', status: 304, headers: { etag } })
  const bytes = await read()
  // The policy was deleted between the two reads.
  if (bytes === undefined) return err(UNSEEN)
  return ok({
    kind: 'bytes',
    status: 200,
    bytes,
    headers: {
      'content-type': v2.OCTETS_TYPE,
      'content-disposition': `attachment; filename="${policyFile(policy)}"`,
      etag,
    },
  })
}

/**
 * Reports whether `If-None-Match` matches the ETag; a weak validator suffices (RFC 9110, 13.1.2).
 */
function isNamed(header: string | undefined, etag: string): boolean {
  const named = (header ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''))
  return named.includes('*') || named.includes(etag)
}
