import type { v2 } from '@reeve/contract'
import { aBody, aGovernanceServer, type GovernanceServer } from './harness.ts'
import { aWorkspace } from './rows.ts'

/** The organization that the tests of policy sets are about. */
export const ACME = { organization_name: 'acme' }

export interface WithSets extends GovernanceServer {
  readonly projectId: string
  readonly workspaceId: string
}

const WORKSPACE = 'ws-1111111111111111'

/** An organization with one more project and a workspace in it. */
export async function withSets(): Promise<WithSets> {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id: projectId } = await it.project('acme', { name: 'payments' })
  await aWorkspace(it, projectId, { id: WORKSPACE, name: 'web' })
  return { ...it, projectId, workspaceId: WORKSPACE }
}

export async function aPolicySet(it: GovernanceServer, attributes: object, relationships?: object) {
  const body = aBody('policy-sets', attributes, relationships)
  return (await it.created('createPolicySet', { params: ACME, body })).data
}

export async function showSet(it: GovernanceServer, id: string): Promise<v2.PolicySet> {
  return (await it.ok('readPolicySet', { params: { policy_set_id: id } })).data
}

export interface SetChange {
  readonly attributes?: object
  readonly relationships?: object
}

export async function patchSet(
  it: GovernanceServer,
  id: string,
  { attributes, relationships }: SetChange,
): Promise<v2.PolicySet> {
  const body = aBody('policy-sets', attributes, relationships)
  return (await it.ok('updatePolicySet', { params: { policy_set_id: id }, body })).data
}

/** A new policy, without code. */
export async function aMember(
  it: GovernanceServer,
  name: string,
  kind: v2.PolicyKind = 'native',
): Promise<string> {
  const opa = { kind, query: 'data.reeve.deny' }
  const attributes = { name, 'enforcement-level': 'advisory', ...(kind === 'opa' ? opa : {}) }
  const body = aBody('policies', attributes)
  return (await it.ok('createPolicy', { params: ACME, body })).data.id
}

export function members(type: string, ...ids: readonly string[]) {
  return { data: ids.map((id) => ({ id, type })) }
}

export function idsOf(
  relationship: { readonly data: readonly { readonly id: string }[] } | undefined,
) {
  return relationship?.data.map(({ id }) => id)
}

export async function aParameter(it: GovernanceServer, setId: string, attributes: object) {
  const body = aBody('vars', { category: 'policy-set', ...attributes })
  const params = { policy_set_id: setId }
  return (await it.created('createPolicySetParameter', { params, body })).data
}
