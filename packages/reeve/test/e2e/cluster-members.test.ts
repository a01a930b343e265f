import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atEnd } from '../build/at-end.ts'
import { startPostgres, whyNoPostgres } from '../build/postgres.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { leaderOf, startServer, type ServerProcess } from './cluster-process.ts'
import { startReeve } from './program-process.ts'

const skip = whyNoPostgres()
/** Agents start slowly on a busy machine. */
const PATIENT_MS = 60_000

test('cluster: every server lists all servers with their states', { skip }, async (t) => {
  const postgres = await startPostgres()
  atEnd(t, () => postgres.stop())
  const place = { url: await postgres.newDatabase(), directory: await temporaryDirectory(t) }
  const a = await startServer(t, { ...place, name: 'a' })
  await until('a leader', () => leaderOf(a))
  const b = await startServer(t, { ...place, name: 'b', flags: ['--datacenter', 'dc2'] })
  const c = await startServer(t, { ...place, name: 'c' })
  const all = [a, b, c]
  const addresses = all.map(hostOf).toSorted()

  // The same is told by each of them, and each is where it says.
  for (const server of all) {
    await until(
      'three members',
      async () => (await membersAt(server)) === 'a alive leads, b alive, c alive' || undefined,
      PATIENT_MS,
    )
    assert.deepEqual((await server.client.v1.listPeers({})).data, addresses)
    assert.deepEqual((await server.client.v1.listRegions({})).data, ['global'])
    const { data } = await server.client.v1.listAgentMembers({})
    assert.deepEqual(data.Members.map(({ Addr, Port }) => `${Addr}:${Port}`).toSorted(), addresses)
    assert.deepEqual(
      data.Members.map(({ Tags }) => Tags['dc']),
      ['dc1', 'dc2', 'dc1'],
    )
  }
  const listing = startReeve(t, ['server', 'members'], { environment: { REEVE_ADDR: c.address } })
  await until('the list', () => listing.child.exitCode ?? undefined, PATIENT_MS)
  assert.match(listing.output(), /a\.global +127\.0\.0\.1:\d+ +alive +leader /)
  assert.match(listing.output(), /b\.global +127\.0\.0\.1:\d+ +alive +\S*\d/)

  // One that stops has left; one that is killed has failed, and another leads.
  assert.equal(await c.kill('SIGTERM'), 0, c.output())
  await untilMembers(a, 'a alive leads, b alive, c left')
  assert.deepEqual((await a.client.v1.listPeers({})).data, [hostOf(a), hostOf(b)].toSorted())
  await a.kill('SIGKILL')
  await untilMembers(b, 'a failed, b alive leads, c left')

  // Who is back is alive, and nothing is left of the process before, wherever it is now.
  const again = await startServer(t, { ...place, name: 'a' })
  await untilMembers(again, 'a alive, b alive leads, c left')
  await untilMembers(b, 'a alive, b alive leads, c left')
  b.child.kill('SIGSTOP')
  await untilMembers(again, 'a alive leads, b failed, c left')
  b.child.kill('SIGCONT')
  await untilMembers(again, 'a alive leads, b alive, c left')
})

async function untilMembers(server: ServerProcess, wanted: string): Promise<void> {
  let found = ''
  const look = async (): Promise<true | undefined> => {
    found = await membersAt(server)
    return found === wanted || undefined
  }
  await until(wanted, look, PATIENT_MS).catch((thrown: unknown) => {
    throw new Error(`it says: ${found}`, { cause: thrown })
  })
}

/** `a alive leads, b failed`. */
async function membersAt({ client }: ServerProcess): Promise<string> {
  const { data } = await client.v1.listAgentMembers({})
  const texts = data.Members.map(({ Name, Status, Tags }) => {
    const leads = Tags['leader'] === 'true' ? ' leads' : ''
    return `${Name.replace(/\.global$/, '')} ${Status}${leads}`
  })
  return texts.join(', ')
}

function hostOf({ address }: ServerProcess): string {
  return new URL(address).host
}
