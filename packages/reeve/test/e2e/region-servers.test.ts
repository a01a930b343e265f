import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { AclToken } from '@reeve/contract'
import { atEnd } from '../build/at-end.ts'
import { freePort } from '../build/free-port.ts'
import { startPostgres, whyNoPostgres } from '../build/postgres.ts'
import { until } from '../build/until.ts'
import { leaderOf } from './cluster-process.ts'
import { bootstrapAt, startRegion, type RegionServer } from './region-process.ts'

const skip = whyNoPostgres()
/** Nobody listens there. */
const DEAD = '127.0.0.1:1'
/** Agents are slow on a busy machine. */
const PATIENT_MS = 60_000
const CLUSTER_KEYS = { us: 'a key for the servers of us', eu: 'a key for the servers of eu' }

/** Two servers in each of two regions; the first of each leads. */
async function fourServers(t: TestContext): Promise<Record<Name, RegionServer>> {
  const postgres = await startPostgres()
  atEnd(t, () => postgres.stop())
  const urls = { us: await postgres.newDatabase(), eu: await postgres.newDatabase() }
  const ports = {
    us1: await freePort(),
    us2: await freePort(),
    eu1: await freePort(),
    eu2: await freePort(),
  }
  const start = (name: Name, known: Readonly<Record<string, readonly Known[]>>) => {
    const region = name.startsWith('us') ? 'us' : 'eu'
    const addressOf = (one: Known) => (one === 'dead' ? DEAD : `127.0.0.1:${ports[one]}`)
    return startRegion(t, {
      region,
      authoritative: 'us',
      port: ports[name],
      known: Object.fromEntries(
        Object.entries(known).map(([other, list]) => [other, list.map(addressOf)]),
      ),
      environment: { REEVE_DATABASE: urls[region], REEVE_CLUSTER_KEY: CLUSTER_KEYS[region] },
    })
  }
  // Leaders know followers only, and one that is dead: each way has to be found.
  const us1 = await start('us1', { eu: ['dead', 'eu2'] })
  const eu1 = await start('eu1', { us: ['dead', 'us2'] })
  await until('leaders', async () => ((await leaderOf(us1)) && (await leaderOf(eu1))) || undefined)
  const us2 = await start('us2', { eu: ['dead', 'eu2', 'eu1'] })
  const eu2 = await start('eu2', { us: ['us1', 'dead', 'us2'] })
  return { us1, us2, eu1, eu2 }
}

type Name = 'us1' | 'us2' | 'eu1' | 'eu2'
type Known = Name | 'dead'

test('regions: of several servers each, any of which may die', { skip }, async (t) => {
  const { us1, us2, eu1, eu2 } = await fourServers(t)
  for (const [leader, follower] of [
    [us1, us2],
    [eu1, eu2],
  ] as const)
    await until('the follower to know its leader', async () =>
      (await leaderOf(follower)) === leader.address ? true : undefined,
    )
  const bootstrap = await bootstrapAt(eu2)
  assert.equal(bootstrap.status, 200, await bootstrap.text())
  await until('the token in eu', () => namesAt(eu2).catch(no), PATIENT_MS)

  // Through followers, to followers.
  await copiedTo(eu2, await grantAt(eu2, 'one'))
  const far = { params: { path: 'far' }, query: { region: 'eu' } }
  await us2.client.v1.writeVariable({ ...far, body: { Path: 'far', Items: { a: 'b' } } })
  assert.deepEqual((await us1.client.v1.readVariable(far)).data.Items, { a: 'b' })

  await t.test('copies go on when the leader of the region that copies dies', async () => {
    await eu1.kill('SIGKILL')
    await until('another to lead', () => namesAt(eu2).catch(no), PATIENT_MS)
    await copiedTo(eu2, await grantAt(us2, 'two'))
    const { data: self } = await eu2.client.v1.readAgentSelf({})
    assert.ok(Number(self.stats['replication']?.['lag_ms']) < 10_000)
  })

  await t.test('copies go on when the leader of the authoritative region dies', async () => {
    await us1.kill('SIGKILL')
    // What was copied goes on serving.
    assert.ok((await namesAt(eu2)).includes('default'))
    // By way of the region that has lost nobody: its server finds the one that is left.
    const granted = await until('a write', () => grantAt(eu2, 'three').catch(no), PATIENT_MS)
    await copiedTo(eu2, granted)
    await us2.client.v1.deleteAclToken({ params: { accessor_id: granted.AccessorID } })
    await until('its end', async () =>
      (await opens(eu2, granted.SecretID)) ? undefined : (true as const),
    )
  })
})

/** A policy, a role of it and a global token of that. */
async function grantAt({ client }: RegionServer, name: string): Promise<AclToken> {
  const Rules = 'node_pool "*" { policy = "read" }'
  const params = { policy_name: name }
  await client.v1.writeAclPolicy({ params, body: { Name: name, Rules } })
  const role = { Name: name, Policies: [{ Name: name }] }
  const { data: roles } = await client.v1.listAclRoles({ query: { region: 'us' } })
  // A try before this one may have come so far.
  if (!roles.some(({ Name }) => Name === name)) await client.v1.createAclRole({ body: role })
  const token = { Name: name, Type: 'client', Roles: [{ Name: name }], Global: true }
  return (await client.v1.createAclToken({ body: token })).data
}

async function copiedTo(server: RegionServer, { SecretID }: AclToken): Promise<void> {
  await until('its copy', async () => (await opens(server, SecretID)) || undefined, PATIENT_MS)
}

/** It lists what its role's policy lets it see, and nobody else could. */
async function opens({ address }: RegionServer, secret: string): Promise<boolean> {
  const headers = { 'x-service-token': secret }
  const answer = await fetch(`${address}/v1/node/pools`, { headers })
  return answer.status === 200 && (await answer.text()).includes('default')
}

async function namesAt({ client }: RegionServer): Promise<readonly string[]> {
  return (await client.v1.listNodePools({})).data.map(({ Name }) => Name)
}

const no = (): undefined => undefined
