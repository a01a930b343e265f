import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { startPostgres, whyNoPostgres, type TestPostgres } from '../build/postgres.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { leaderOf, startServer, type ServerProcess } from './cluster-process.ts'
import { startReeve } from './program-process.ts'

const missing = whyNoPostgres()
if (missing !== undefined)
  test('servers whose database loses commits', { skip: missing }, () => undefined)
else runTests(await startPostgres())

const REFUSED =
  /4 acknowledged commits \(index \d+ to \d+\) are missing from the database .*reeve operator database accept-loss/

function runTests(postgres: TestPostgres): void {
  after(() => postgres.stop())

  test('cluster: a database that loses commits is reported, and a server that was away takes its state', async (t) => {
    const { servers, url } = await threeServers(t, postgres)
    const [first] = servers
    assert.ok(first !== undefined)
    for (const name of ['kept-1', 'kept-2']) await put(first, name)
    const keptIndex = await lastIndex(postgres, url)
    for (const name of ['lost-1', 'lost-2', 'lost-3', 'lost-4']) await put(first, name)
    await everyoneHas(servers, 'lost-4')
    const lostIndex = await lastIndex(postgres, url)
    assert.equal(lostIndex - keptIndex, 4)
    const away = await aFollower(servers)
    away.child.kill('SIGSTOP')
    const present = servers.filter((server) => server !== away)

    await goBack(postgres, url, keptIndex)

    const refusal = await until('writes to be refused', async () => {
      const answer = await tryPut(first === away ? present[0] : first, 'refused')
      return REFUSED.test(answer.text) ? answer : undefined
    })
    assert.equal(refusal.status, 503)
    for (const server of present) {
      const names = await until('reads of the reloaded state', () => namesAt(server, ''))
      assert.deepEqual(names, ['default', 'kept-1', 'kept-2'], server.address)
      const health = await fetch(`${server.address}/v1/agent/health`)
      assert.equal(health.status, 500)
      assert.match(await health.text(), REFUSED)
    }
    const [asked] = present
    assert.ok(asked !== undefined)
    const outputs = present.map((server) => server.output()).join('')
    assert.match(outputs, /"level":"error"[^\n]*4 acknowledged commits \(index/)
    const metrics = await Promise.all(present.map(metricOf))
    assert.ok(metrics.includes(4), `${metrics.join()} lost commits are in a metric`)
    const doctor = startReeve(t, ['doctor', '--address', asked.address])
    await until('the doctor to end', () => doctor.child.exitCode ?? undefined)
    assert.match(doctor.output(), REFUSED)

    const accepting = startReeve(t, [
      'operator',
      'database',
      'accept-loss',
      '--address',
      asked.address,
    ])
    assert.equal(await until('the command to end', () => accepting.child.exitCode ?? undefined), 0)
    assert.match(accepting.output(), /Writes are accepted again\. Lost for good: 4 commits/)
    for (let n = 1; n <= 8; n++) await until('a write', () => written(asked, `new-${n}`))
    assert.ok((await lastIndex(postgres, url)) > lostIndex, 'the lost indexes are used again')

    away.child.kill('SIGCONT')
    const expected = await until('names of the leader', () => namesAt(asked, ''))
    await until('the server that was away to have the state of the database', async () => {
      const names = await namesAt(away, '?stale')
      return JSON.stringify(names) === JSON.stringify(expected) ? true : undefined
    })
    assert.match(away.output(), /4 acknowledged commits \(index/)
    for (const server of present) await server.kill('SIGTERM')
    const asLeader = await until('the server that was away to lead', () => namesAt(away, ''))
    assert.deepEqual(asLeader, expected, 'as the leader it shows what the database has')
    await until('writes by the server that was away', () => written(away, 'last'))
    const audit = await fetch(`${away.address}/v1/audit?action=acceptDatabaseLoss`)
    assert.match(await audit.text(), /acceptDatabaseLoss/)
  })

  test('cluster: an idle leader notices that the database went back within seconds', async (t) => {
    const { servers, url } = await threeServers(t, postgres, ['only'])
    const [only] = servers
    assert.ok(only !== undefined)
    await put(only, 'kept')
    const keptIndex = await lastIndex(postgres, url)
    await put(only, 'lost')
    await goBack(postgres, url, keptIndex)
    const names = await until('the state of the database', async () => {
      const found = await namesAt(only, '?consistent')
      return found?.includes('lost') === false ? found : undefined
    })
    assert.deepEqual(names, ['default', 'kept'])
    assert.match(only.output(), /1 acknowledged commit \(index \d+\) is missing/)
  })
}

async function threeServers(
  t: TestContext,
  postgres: TestPostgres,
  names: readonly string[] = ['a', 'b', 'c'],
) {
  const directory = await temporaryDirectory(t)
  const url = await postgres.newDatabase()
  const servers: ServerProcess[] = []
  for (const name of names) servers.push(await startServer(t, { url, directory, name }))
  await until('a leader', async () => {
    const leaders = await Promise.all(servers.map(leaderOf))
    return leaders.every((leader) => leader !== undefined) ? true : undefined
  })
  return { servers, url }
}

/** As after the promotion of a standby that had not received the rest. */
async function goBack(postgres: TestPostgres, url: string, toIndex: number): Promise<void> {
  await postgres.query(
    databaseIn(url),
    `BEGIN; UPDATE reeve_head SET last_index = ${toIndex};
     DELETE FROM reeve_log WHERE commit_index > ${toIndex}; COMMIT`,
  )
}

async function lastIndex(postgres: TestPostgres, url: string): Promise<number> {
  const [row] = await postgres.query(databaseIn(url), 'SELECT last_index FROM reeve_head')
  return Number(row?.['last_index'])
}

function databaseIn(url: string): string {
  return new URL(url).pathname.slice(1)
}

async function aFollower(servers: readonly ServerProcess[]): Promise<ServerProcess> {
  return await until('a follower', async () => {
    const [first] = servers
    const leader = first === undefined ? undefined : await leaderOf(first)
    return leader === undefined ? undefined : servers.find(({ address }) => address !== leader)
  })
}

async function everyoneHas(servers: readonly ServerProcess[], name: string): Promise<void> {
  for (const server of servers)
    await until(`${name} at ${server.address}`, async () => {
      const names = await namesAt(server, '?stale')
      return names?.includes(name) === true ? true : undefined
    })
}

async function put(server: ServerProcess, name: string): Promise<void> {
  const { status, text } = await tryPut(server, name)
  assert.equal(status, 200, text)
}

async function written(server: ServerProcess, name: string): Promise<true | undefined> {
  const { status } = await tryPut(server, name)
  return status === 200 ? true : undefined
}

async function tryPut(
  server: ServerProcess | undefined,
  name: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const body = JSON.stringify({ Name: name })
  const sent = fetch(`${server?.address}/v1/namespace`, { method: 'PUT', body })
  // A server that restarts as a follower closes its connections.
  const answer = await sent.catch(() => undefined)
  return { status: answer?.status ?? 0, text: (await answer?.text()) ?? '' }
}

async function namesAt(
  { address }: ServerProcess,
  query: string,
): Promise<readonly string[] | undefined> {
  const answer = await fetch(`${address}/v1/namespaces${query}`).catch(() => undefined)
  if (answer?.status !== 200) return undefined
  // The list of namespaces.
  const rows = (await answer.json()) as { Name: string }[]
  return rows.map(({ Name }) => Name).toSorted()
}

async function metricOf({ address }: ServerProcess): Promise<number> {
  const answer = await fetch(`${address}/v1/metrics?format=prometheus`)
  const [, value = ''] = /^\w*database_lost_commits (\d+)$/m.exec(await answer.text()) ?? []
  return Number(value)
}
