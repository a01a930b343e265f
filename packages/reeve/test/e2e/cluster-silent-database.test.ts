import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { PostgresProxy } from '../build/postgres-proxy.ts'
import { startPostgres, whyNoPostgres, type TestPostgres } from '../build/postgres.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startServer, statusOf } from './cluster-process.ts'

const missing = whyNoPostgres()
if (missing !== undefined)
  test('servers whose database does not answer', { skip: missing }, () => undefined)
else runTests(await startPostgres())

/** Commits wait for it, reads of the log and the lease do not. */
const LOCK = 'BEGIN; LOCK TABLE reeve_log IN SHARE MODE; SELECT pg_sleep(6); COMMIT'
const COMMIT_TIMEOUT_MS = 2_000
const environment = { REEVE_COMMIT_TIMEOUT: `${COMMIT_TIMEOUT_MS / 1_000}s` }

function runTests(postgres: TestPostgres): void {
  after(() => postgres.stop())

  test('cluster: while commits get no response, writes are rejected in time and reads are served', async (t) => {
    const directory = await temporaryDirectory(t)
    const url = await postgres.newDatabase()
    const database = new URL(url).pathname.slice(1)
    const server = await startServer(t, { url, directory, name: 'a', environment })
    const { address } = server
    assert.equal((await put(address, 'before')).status, 200)

    const locked = postgres.query(database, LOCK)
    await until('the lock', async () => {
      const [found] = await postgres.query(
        database,
        `SELECT count(*) AS held FROM pg_locks WHERE mode = 'ShareLock' AND granted
           AND relation = 'reeve_log'::regclass`,
      )
      return found?.['held'] === '1' ? true : undefined
    })
    const startedMs = performance.now()
    const refused = await put(address, 'refused')
    const tookMs = performance.now() - startedMs
    assert.equal(refused.status, 503)
    assert.match(refused.text, /has not answered a commit for 2 s \(server\.commit_timeout\)/)
    assert.match(refused.text, /may or may not have happened/)
    assert.ok(tookMs >= COMMIT_TIMEOUT_MS - 100, `${tookMs} ms`)
    assert.equal((await put(address, 'refused')).status, 503, 'at once')
    for (const query of ['', '?stale', '?consistent'])
      assert.equal(await statusOf(address, `/v1/namespaces${query}`), 200, query)
    const health = await fetch(`${address}/v1/agent/health`)
    assert.equal(health.status, 500)
    assert.match(await health.text(), /has not answered a commit/)
    await locked

    await untilWritten(address)
    const names = await (await fetch(`${address}/v1/namespaces`)).text()
    // PostgreSQL carries the commit out when the lock is gone: the server loads what is there.
    for (const name of ['before', 'after', 'refused']) assert.match(names, new RegExp(`"${name}"`))
    const lines = server.output().match(/has not answered a commit for 2 s/g) ?? []
    assert.equal(lines.length, 1, 'it is logged once')
    assert.match(server.output(), /has carried out a commit that this server had given up/)
    assert.doesNotMatch(server.output(), /log-diverged/)
  })

  test('cluster: while the database does not respond, stale reads are served', async (t) => {
    const directory = await temporaryDirectory(t)
    const direct = await postgres.newDatabase()
    const proxy = await PostgresProxy.start(t, postgres.root)
    const url = proxy.url(direct)
    const server = await startServer(t, { url, directory, name: 'b', environment })
    const { address } = server
    assert.equal((await put(address, 'before')).status, 200)

    proxy.isHanging = true

    const refused = await put(address, 'refused')
    assert.equal(refused.status, 503)
    await until('a health that says why', async () => {
      const text = await (await fetch(`${address}/v1/agent/health`)).text()
      return /no leader: the database .* has not answered for \d+ s/.test(text) ? true : undefined
    })
    for (let reads = 0; reads < 20; reads++) {
      const answer = await fetch(`${address}/v1/namespaces?stale`)
      assert.equal(answer.status, 200)
      assert.match(await answer.text(), /"before"/)
    }
    assert.equal(await statusOf(address, '/v1/namespaces'), 503, 'nobody leads')

    proxy.isHanging = false

    await untilWritten(address)
    assert.match(server.output(), /restarts as a follower/)
  })
}

/** A server that restarts as a follower may hang up. */
async function untilWritten(address: string): Promise<void> {
  await until('writes', async () => {
    const { status } = await put(address, 'after').catch(() => ({ status: 0 }))
    return status === 200 ? true : undefined
  })
}

async function put(
  address: string,
  name: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const body = JSON.stringify({ Name: name })
  const answer = await fetch(`${address}/v1/namespace`, { method: 'PUT', body })
  return { status: answer.status, text: await answer.text() }
}
