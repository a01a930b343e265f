import { v2 } from '@reeve/contract'
import {
  createPolicy,
  deletePolicy,
  draftPolicyProblems,
  findPolicy,
  findPolicyCode,
  findPolicyOrganization,
  listPolicies,
  policyFileName,
  listCodeVersions,
  updatePolicy,
  uploadPolicyCode,
  type GovernanceContext,
  type VisiblePolicy,
  dryRunStatus,
  evaluatePolicySet,
  evaluateWorkspacePolicies,
  findPolicySet,
  findWorkspaceWith,
  replayPolicy,
  toPolicySetVerdict,
  tryPolicy,
} from '../../governance/index.ts'
import { err, ok } from '@reeve/kit/result.ts'
import { NOT_FOUND, type PolicySetResultRow } from '../../model/index.ts'
import {
  mapResult,
  NO_CONTENT,
  pageDocument,
  resourceDocument,
  listDocument,
  offsetAndLimit,
} from './documents.ts'
import { valueAtPointer, type CrossFieldRule } from './body-validation.ts'
import {
  endpoint,
  type JsonApiResult,
  type Resource,
  type V2Endpoint,
  type V2Request,
} from './endpoint.ts'
import {
  createdPolicyResource,
  policyResource,
  policySetResource,
  policySetsOf,
  policyVersionResource,
} from './resources/policy-set.ts'

const { v2Routes } = v2
const { POLICY_INCLUDES } = v2

const newPolicyRule: CrossFieldRule = ({ body, isValidAt }) => {
  const pointer = '/data/attributes'
  // The members that are read are valid, and have the types of the schema.
  const attributes = (valueAtPointer(body, pointer) ?? {}) as Partial<NewPolicyAttributes>
  return draftPolicyProblems(attributes, (...names) =>
    names.every((name) => isValidAt(`${pointer}/${name}`)),
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
        mapResult(
          await createPolicy(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          // The API documents 200 for this creation, not 201.
          (visible) => resourceDocument(createdPolicyResource(tables, visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findPolicyOrganization(context, caller, {
            organizationName: params.organization_name,
            right: 'update',
          }),
        crossFieldRule: newPolicyRule,
      },
    ),
    endpoint(
      v2Routes.listOrganizationPolicies,
      (request) => listResponse(context, request),
      includes,
    ),
    endpoint(
      v2Routes.readPolicy,
      (request) =>
        mapResult(findRequestedPolicy(context, request, 'read'), (visible) =>
          resourceDocument(
            policyResource(tables, visible),
            includedPolicySets(context, [visible], request.includes),
          ),
        ),
      includes,
    ),
    endpoint(
      v2Routes.updatePolicy,
      async ({ caller, params, body }) =>
        mapResult(
          await updatePolicy(context, caller, { policyId: params.policy_id, data: body.data }),
          (visible) => resourceDocument(policyResource(tables, visible)),
        ),
      { authorize: (request) => findRequestedPolicy(context, request, 'update') },
    ),
    endpoint(v2Routes.deletePolicy, async ({ caller, params }) =>
      mapResult(await deletePolicy(context, caller, params.policy_id), () => NO_CONTENT),
    ),
    ...policyCodeEndpoints(context),
  ]
}

function policyCodeEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  return [
    endpoint(
      v2Routes.uploadPolicy,
      async ({ caller, params, query, body }) =>
        mapResult(
          await uploadPolicyCode(context, caller, {
            policyId: params.policy_id,
            bytes: body,
            isStrict: query.validate === 'strict',
          }),
          (visible) => resourceDocument(policyResource(tables, visible)),
        ),
      {
        authorize: (request) => findRequestedPolicy(context, request, 'update'),
      },
    ),
    endpoint(v2Routes.downloadPolicy, (request) => downloadRoute(context, request)),
    endpoint(v2Routes.listPolicyVersions, (request) =>
      mapResult(findRequestedPolicy(context, request, 'read'), ({ policy }) =>
        listDocument(listCodeVersions(tables, policy.id).map(policyVersionResource)),
      ),
    ),
  ]
}

type PolicyRequest = Pick<V2Request<typeof v2Routes.readPolicy>, 'caller' | 'params'>

function findRequestedPolicy(
  context: GovernanceContext,
  { caller, params }: PolicyRequest,
  right: 'read' | 'update',
) {
  return findPolicy(context, caller, { policyId: params.policy_id, right })
}

function listResponse(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.listOrganizationPolicies>,
): JsonApiResult {
  const { caller, params, query, page, includes } = request
  const found = listPolicies(context, caller, {
    organizationName: params.organization_name,
    nameContains: query['search[name]'],
    kind: query['filter[kind]'],
    sort: query.sort ?? 'name',
    ...offsetAndLimit(page),
  })
  return mapResult(found, ({ policies, total }) =>
    pageDocument(request, {
      items: policies.map((visible) => policyResource(context.store.tables, visible)),
      total,
      ...includedPolicySets(context, policies, includes),
    }),
  )
}

/** Returns the included policy sets. The permission to read policies also covers their sets. */
function includedPolicySets(
  { store }: GovernanceContext,
  policies: readonly VisiblePolicy[],
  includes: ReadonlySet<string>,
): { readonly included?: readonly Resource[] } {
  if (!includes.has('policy_sets')) return {}
  const { tables } = store
  return {
    included: policies.flatMap((visible) =>
      policySetsOf(tables, visible.policy.id).map((id) =>
        policySetResource(tables, { ...visible, set: tables.policy_sets.get(id) }),
      ),
    ),
  }
}

async function downloadRoute(
  context: GovernanceContext,
  { caller, params, query, headers }: V2Request<typeof v2Routes.downloadPolicy>,
): Promise<JsonApiResult> {
  const found = findPolicyCode(context, caller, {
    policyId: params.policy_id,
    versionId: query.version,
  })
  if (!found.ok) return found
  const { sha256, policy, read } = found.value
  const etag = `"${sha256}"`
  if (etagMatches(headers['if-none-match'], etag))
    return ok({ kind: 'empty', status: 304, headers: { etag } })
  const bytes = await read()
  // The policy was deleted between the two reads.
  if (bytes === undefined) return err(NOT_FOUND)
  return ok({
    kind: 'bytes',
    status: 200,
    bytes,
    headers: {
      'content-type': v2.BINARY_TYPE,
      'content-disposition': `attachment; filename="${policyFileName(policy)}"`,
      etag,
    },
  })
}

/**
 * Reports whether `If-None-Match` matches the ETag; a weak validator suffices (RFC 9110, 13.1.2).
 */
function etagMatches(header: string | undefined, etag: string): boolean {
  const named = (header ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''))
  return named.includes('*') || named.includes(etag)
}

/** Returns the routes that evaluate policies without storing anything. */
export function policyDryRunEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(
      v2Routes.evaluateWorkspacePolicies,
      async ({ caller, params, body }) => {
        const { plan, run, 'policy-sets': policySets } = body.data.attributes
        const { workspace_id: workspaceId } = params
        const input = { workspaceId, plan, run, policySets }
        return mapResult(await evaluateWorkspacePolicies(context, caller, input), dryRunDocument)
      },
      {
        authorize: ({ caller, params }) =>
          findWorkspaceWith(context, caller, {
            address: { workspaceId: params.workspace_id },
            right: 'queuePlan',
          }),
      },
    ),
    endpoint(
      v2Routes.evaluatePolicySet,
      async ({ caller, params, body }) => {
        const { attributes, relationships } = body.data
        const input = {
          policySetId: params.policy_set_id,
          runId: relationships.run.data.id,
          toolVersion: attributes?.['policy-tool-version'],
        }
        return mapResult(await evaluatePolicySet(context, caller, input), dryRunDocument)
      },
      {
        authorize: ({ caller, params }) =>
          findPolicySet(context, caller, { policySetId: params.policy_set_id, right: 'update' }),
      },
    ),
    ...dryRunPolicyEndpoints(context),
  ]
}

function dryRunDocument(sets: readonly PolicySetResultRow[]): JsonApiResult {
  const data: v2.PolicyDryRun = {
    type: 'policy-dry-runs',
    attributes: { status: dryRunStatus(sets), 'policy-set-outcomes': sets.map(toPolicySetVerdict) },
  }
  return resourceDocument(data)
}

/** Returns the routes that try a policy before it is enforced. */
function dryRunPolicyEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const guard = ({ caller, params }: Parameters<typeof findManagedPolicy>[1]) =>
    findManagedPolicy(context, { caller, params })
  return [
    endpoint(
      v2Routes.tryPolicy,
      async ({ caller, params, body }) =>
        mapResult(
          await tryPolicy(context, caller, { policyId: params.policy_id, ...body.data.attributes }),
          (attributes) => resourceDocument({ type: 'policy-trials', attributes }),
        ),
      { authorize: guard },
    ),
    endpoint(
      v2Routes.replayPolicy,
      async ({ caller, params, body }) =>
        mapResult(
          await replayPolicy(context, caller, {
            policyId: params.policy_id,
            ...body.data.attributes,
          }),
          (attributes) => resourceDocument({ type: 'policy-replays', attributes }),
        ),
      { authorize: guard },
    ),
  ]
}

function findManagedPolicy(
  context: GovernanceContext,
  {
    caller,
    params,
  }: {
    readonly caller: Parameters<typeof findPolicy>[1]
    readonly params: { readonly policy_id: string }
  },
) {
  return findPolicy(context, caller, { policyId: params.policy_id, right: 'update' })
}
