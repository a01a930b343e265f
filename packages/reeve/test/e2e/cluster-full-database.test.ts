import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { startPostgres, whyNoPostgres, type TestPostgres } from '../build/postgres.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { leaderOf, startServer, statusOf, type ServerProcess } from './cluster-process.ts'

const missing = whyNoPostgres()
if (missing !== undefined)
  test('servers whose database is full', { skip: missing }, () => undefined)
else runTests(await startPostgres())

/** Long enough for many changes of the leader, if it changed. */
const FULL_MS = 6_000
const READ_EVERY_MS = 100

/** As PostgreSQL says that its disk is full. */
const FILL = `
  CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'could not extend file "base/1/2": No space left on device'
      USING ERRCODE = 'disk_full';
  END $$;
  CREATE TRIGGER full_disk BEFORE INSERT ON reeve_log FOR EACH ROW EXECUTE FUNCTION refuse()`
const FREE = 'DROP TRIGGER full_disk ON reeve_log; DROP FUNCTION refuse'

function runTests(postgres: TestPostgres): void {
  after(() => postgres.stop())

  test('cluster: while its database is full a leader keeps leading and serving reads', async (t) => {
    const directory = await temporaryDirectory(t)
    const url = await postgres.newDatabase()
    const database = new URL(url).pathname.slice(1)
    const servers = [
      await startServer(t, { url, directory, name: 'a' }),
      await startServer(t, { url, directory, name: 'b' }),
    ]
    const leader = await until('a leader', async () => {
      const [a, b] = await Promise.all(servers.map(leaderOf))
      return a !== undefined && a === b ? a : undefined
    })
    const termOf = async (): Promise<unknown> =>
      (await postgres.query(database, 'SELECT term FROM reeve_head'))[0]?.['term']
    const [first] = servers
    assert.ok(first !== undefined)
    assert.equal((await put(first, 'before')).status, 200)
    const term = await termOf()

    await postgres.query(database, FILL)

    const refused = await put(first, 'refused')
    assert.equal(refused.status, 503)
    assert.match(refused.text, /has no space left .*nothing has to be restarted/)
    const untilMs = performance.now() + FULL_MS
    while (performance.now() < untilMs) {
      for (const { address } of servers)
        for (const query of ['', '?stale', '?consistent'])
          assert.equal(await statusOf(address, `/v1/namespaces${query}`), 200, `${address}${query}`)
      const { status, text } = await put(first, 'refused')
      assert.equal(status, 503)
      assert.match(text, /has no space left/)
      await wait(READ_EVERY_MS)
    }
    assert.equal(await termOf(), term, 'leadership did not change')
    const health = await fetch(`${leader}/v1/agent/health`)
    assert.equal(health.status, 500)
    assert.match(await health.text(), /has no space left/)

    await postgres.query(database, FREE)

    await until('writes', async () =>
      (await put(first, 'after')).status === 200 ? true : undefined,
    )
    assert.equal(await termOf(), term, 'still the same leader')
    const names = await (await fetch(`${first.address}/v1/namespaces`)).text()
    assert.match(names, /"before"/)
    assert.match(names, /"after"/)
    assert.doesNotMatch(names, /"refused"/)
    for (const server of servers) assert.doesNotMatch(server.output(), /restarts as a follower/)
  })
}

async function put(
  { address }: ServerProcess,
  name: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const body = JSON.stringify({ Name: name })
  const answer = await fetch(`${address}/v1/namespace`, { method: 'PUT', body })
  return { status: answer.status, text: await answer.text() }
}
