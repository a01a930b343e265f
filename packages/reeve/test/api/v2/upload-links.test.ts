import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { v2 } from '@reeve/contract'
import { aPolicyReader } from '../../build/policy-asker.ts'
import { aTar } from '../../build/archive.ts'
import { aBody, aGovernanceServer, type GovernanceServer } from './harness.ts'

const ACME = { organization_name: 'acme' }

const ARCHIVE = gzipSync(
  aTar([
    { path: './native.hcl', text: 'policy "small" {}' },
    { path: './small.native', text: 'main = rule { true }' },
  ]),
)

/** An organization with a policy set. */
async function withSet() {
  const it = await aGovernanceServer({ policyAsker: aPolicyReader() })
  await it.organization('acme')
  const body = aBody('policy-sets', { name: 's' })
  const { data } = await it.created('createPolicySet', { params: ACME, body })
  return { it, setId: data.id }
}

async function version(it: GovernanceServer, policySetId: string): Promise<v2.PolicySetVersion> {
  const params = { policy_set_id: policySetId }
  return (await it.created('createPolicySetVersion', { params })).data
}

async function show(it: GovernanceServer, id: string): Promise<v2.PolicySetVersion> {
  const params = { policy_set_version_id: id }
  return (await it.ok('readPolicySetVersion', { params })).data
}

/** Uploads as clients do: to the link as it stands, without a token. */
async function uploadTo(it: GovernanceServer, link: string | undefined) {
  const { pathname, search } = new URL(link ?? assert.fail('no upload link'))
  return await it.server.send('PUT', pathname + search, { body: ARCHIVE })
}

test('upload link: the archive is accepted without a token, once', async () => {
  const { it, setId } = await withSet()
  const { id, links } = await version(it, setId)
  assert.equal((await uploadTo(it, links.upload)).status, 200)
  assert.equal((await show(it, id)).attributes.status, 'ready')
  assert.equal((await uploadTo(it, links.upload)).status, 409)
})

test('upload link: its key works for an hour, and for as long as its token', async () => {
  const { it, setId } = await withSet()
  const first = await version(it, setId)
  const tried = async (link: string | undefined) => (await uploadTo(it, link)).status
  assert.equal(await tried(`${first.links.upload}x`), 404)
  it.server.clock.advance(3_600_000)
  assert.equal(await tried(first.links.upload), 404)
  const ci = await it.team('acme', 'ci', { 'manage-policies': true })
  const params = { policy_set_id: setId }
  const { data } = await it.created('createPolicySetVersion', { params, as: ci.token })
  await it.done('deleteSingleTeamToken', { params: { team_id: ci.id } })
  assert.equal(await tried(data.links.upload), 404)
})

test('upload link: it stops working when its token loses the permission', async () => {
  const { it, setId } = await withSet()
  const ci = await it.team('acme', 'ci', { 'manage-policies': true })
  const params = { policy_set_id: setId }
  const { data } = await it.created('createPolicySetVersion', { params, as: ci.token })
  const body = aBody('teams', { 'organization-access': { 'manage-policies': false } })
  await it.ok('updateTeam', { params: { team_id: ci.id }, body })
  assert.equal((await uploadTo(it, data.links.upload)).status, 404)
})

test('upload link: the audit record names the owner of the token, and holds no key', async () => {
  const { it, setId } = await withSet()
  const ci = await it.team('acme', 'ci', { 'manage-policies': true })
  const params = { policy_set_id: setId }
  const { data } = await it.created('createPolicySetVersion', { params, as: ci.token })
  assert.equal((await uploadTo(it, data.links.upload)).status, 200)
  const records = [...it.server.context.store.tables.audit_records.rows()]
  const record = records.find(({ Action }) => Action === 'uploadKeyedPolicySetVersion')
  assert.equal(record?.Actor.Type, 'team')
  assert.match(record.Actor.Name, /^api-team_/)
  const key = new URL(data.links.upload ?? '').pathname.split('/').at(-1) ?? assert.fail()
  assert.equal(JSON.stringify(records).includes(key), false)
})

test('upload link: only the answer of create has one', async () => {
  const { it, setId } = await withSet()
  const { id } = await version(it, setId)
  const { data } = await it.ok('readPolicySetVersion', { params: { policy_set_version_id: id } })
  assert.equal(data.links.upload, undefined)
  const list = await it.ok('listPolicySetVersions', { params: { policy_set_id: setId } })
  assert.deepEqual(
    list.data.map(({ links }) => links.upload),
    [undefined],
  )
})
