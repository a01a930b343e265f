import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { atEnd } from '../build/at-end.ts'
import { freePort } from '../build/free-port.ts'
import { startPostgres, whyNoPostgres } from '../build/postgres.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { statusOf } from './cluster-process.ts'
import { startAgent } from './program-process.ts'

const KEY = { REEVE_CLUSTER_KEY: 'a key for the servers of tests', REEVE_ACL: 'false' }
const WAITS = /waiting for the database; the server starts when it answers/

test(
  'cluster: a server waits for a database that is away at its start',
  { skip: whyNoPostgres() },
  async (t) => {
    const postgres = await startPostgres()
    atEnd(t, () => postgres.stop())
    const url = await postgres.newDatabase()
    await postgres.kill()
    const directory = await temporaryDirectory(t)
    const port = await freePort()
    const flags = ['--server', '--data-dir', join(directory, 'a'), '--http-port', String(port)]
    const environment = { REEVE_DATABASE: url, ...KEY }
    const agent = startAgent(t, [...flags, '--log-json'], { environment })
    await until('it to say that it waits', () => (WAITS.test(agent.output()) ? true : undefined))
    assert.match(agent.output(), /cannot be used \(while opening it: connect E/)
    assert.equal(agent.child.exitCode, null)
    await postgres.start()
    await until('it to answer', async () => {
      const status = await statusOf(`http://127.0.0.1:${port}`, '/v1/agent/health').catch(() => 0)
      return status === 200 ? true : undefined
    })
  },
)

test('cluster: a server that waits names the host that cannot be resolved, and can be stopped', async (t) => {
  const directory = await temporaryDirectory(t)
  const flags = ['--server', '--data-dir', join(directory, 'a'), '--http-port', '0', '--log-json']
  const environment = { REEVE_DATABASE: 'postgres://reeve@nowhere.invalid/reeve', ...KEY }
  const agent = startAgent(t, flags, { environment })
  await until('it to say that it waits', () => (WAITS.test(agent.output()) ? true : undefined))
  assert.match(
    agent.output(),
    /The database nowhere\.invalid:5432\/reeve has a host name that cannot be resolved/,
  )
  assert.doesNotMatch(agent.output(), /--bind/)
  assert.equal(await agent.kill('SIGTERM'), 0, agent.output())
  assert.match(agent.output(), /stopped before it had started/)
})
