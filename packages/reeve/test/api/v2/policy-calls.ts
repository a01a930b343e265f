import assert from 'node:assert/strict'
import type { v2 } from '@reeve/contract'
import { aPolicyReader } from '../../build/policy-asker.ts'
import { aBody, aGovernanceServer, type GovernanceServer } from './harness.ts'

/** The organization that the tests of policies are about. */
export const ACME = { organization_name: 'acme' }
export const HARD = { 'enforcement-level': 'hard-mandatory' }

export async function withPolicies(): Promise<GovernanceServer> {
  const it = await aGovernanceServer({ policyAsker: aPolicyReader() })
  await it.organization('acme')
  return it
}

/** A new policy; hard unless its attributes say otherwise. */
export async function aPolicy(it: GovernanceServer, attributes: object, relationships?: object) {
  const body = aBody('policies', { ...HARD, ...attributes }, relationships)
  return (await it.ok('createPolicy', { params: ACME, body })).data
}

export async function showPolicy(it: GovernanceServer, id: string): Promise<v2.RunPolicy> {
  return (await it.ok('readPolicy', { params: { policy_id: id } })).data
}

export interface Upload {
  readonly bytes?: Buffer | string
  readonly as?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: string
}

/** Sends code as it is; nothing is checked. */
export async function upload(
  it: GovernanceServer,
  id: string,
  { bytes, as = it.root, headers = {}, query = '' }: Upload,
) {
  return await it.server.send('PUT', `/api/v2/policies/${id}/upload${query}`, {
    body: bytes,
    headers: { ...(as === null ? {} : { authorization: `Bearer ${as}` }), ...headers },
  })
}

/** Uploads code that is taken; the policy as it is then. */
export async function uploaded(
  it: GovernanceServer,
  id: string,
  text: string,
): Promise<v2.RunPolicy> {
  const headers = { 'content-type': 'application/octet-stream' }
  const reply = await upload(it, id, { bytes: text, headers })
  assert.equal(reply.status, 200, reply.text)
  const shown = await showPolicy(it, id)
  assert.deepEqual(JSON.parse(reply.text), { data: shown })
  return shown
}
