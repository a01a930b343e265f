import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { after, test, type TestContext } from 'node:test'
import { HEADERS } from '@reeve/contract'
import { startPostgres, whyNoPostgres, type TestPostgres } from '../build/postgres.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until, whenBusy } from '../build/until.ts'
import {
  leaderOf,
  startServer,
  statusOf,
  type ServerPlace,
  type ServerProcess,
} from './cluster-process.ts'
import { startAgent } from './program-process.ts'

const missing = whyNoPostgres()
if (missing !== undefined)
  test('servers that share a PostgreSQL', { skip: missing }, () => undefined)
else runTests(await startPostgres())

function runTests(postgres: TestPostgres): void {
  after(() => postgres.stop())

  test('cluster: one server on PostgreSQL keeps its state over a stop and a kill', async (t) => {
    const place = await aPlace(t, postgres)
    const first = await startServer(t, { ...place, name: 'a' })
    await put(first, 'one')
    assert.equal(await first.kill('SIGTERM'), 0, first.output())
    const second = await startServer(t, { ...place, name: 'a' })
    await put(second, 'two')
    await second.kill('SIGKILL')
    const third = await startServer(t, { ...place, name: 'a' })
    // Nobody answers before the lease of the killed one is over.
    const names = await until('it to lead', () => namesAt(third).catch(no))
    assert.deepEqual(names, ['default', 'one', 'two'])
    assert.doesNotMatch(`${first.output()}${third.output()}`, /postgres:\/\/|a key for the servers/)
  })

  test('cluster: what /api/v2 is asked of a follower the leader answers, refusals too', async (t) => {
    const place = { ...(await aPlace(t, postgres)), flags: ['--acl'] }
    const { leader, follower } = await twoServers(t, place)
    const { data } = await follower.client.v1.bootstrapAcl({ body: {} })
    const ask = async (server: ServerProcess, path: string, init: RequestInit = {}) => {
      const headers = {
        authorization: `Bearer ${data.SecretID}`,
        'content-type': 'application/vnd.api+json',
      }
      const answer = await fetch(`${server.address}/api/v2${path}`, { headers, ...init })
      return { status: answer.status, type: answer.headers.get('content-type'), answer }
    }
    const attributes = { name: 'acme', email: 'ops@acme.example' }
    const body = JSON.stringify({ data: { type: 'organizations', attributes } })
    const made = await ask(follower, '/organizations', { method: 'POST', body })
    assert.equal(made.status, 201, await made.answer.text())
    for (const server of [leader, follower]) {
      const found = await ask(server, '/organizations/acme')
      assert.match(await found.answer.text(), /"id":"acme"/)
    }
    const again = await ask(follower, '/organizations', { method: 'POST', body })
    assert.equal(again.status, 422)
    assert.match(again.type ?? '', /^application\/vnd\.api\+json/)
    assert.match(await again.answer.text(), /^{"errors":\[/)
    assert.equal((await ask(follower, '/organizations', { headers: {} })).status, 401)
    // Governance goes on with the next leader.
    await leader.kill('SIGKILL')
    const email = 'new@acme.example'
    const change = JSON.stringify({ data: { type: 'organizations', attributes: { email } } })
    const changed = await until('a leader that takes it', async () => {
      const { status, type, answer } = await ask(follower, '/organizations/acme', {
        method: 'PATCH',
        body: change,
      })
      const text = await answer.text()
      if (status === 200) return text
      assert.equal(status, 503, text)
      assert.match(type ?? '', /^application\/vnd\.api\+json/)
      return undefined
    })
    assert.match(changed, /new@acme\.example/)
  })

  test('cluster: a snapshot restored through a follower is the state of all servers', async (t) => {
    const place = await aPlace(t, postgres)
    const { leader, follower } = await twoServers(t, place)
    await put(leader, 'kept')
    const saved = await fetch(`${leader.address}/v1/operator/snapshot`)
    const body = await saved.text()
    await put(leader, 'lost')
    const { data } = await follower.client.v1.restoreSnapshot({ body })
    const restored = ['default', 'kept']
    assert.deepEqual(await namesAt(leader), restored)
    await until('the follower to have it', async () => {
      const answer = await fetch(`${follower.address}/v1/namespaces?stale`)
      const rows: unknown = await answer.json()
      assert.ok(Array.isArray(rows))
      return (
        rows
          .map(({ Name }) => String(Name))
          .toSorted()
          .join() === restored.join()
      )
    })
    // The next leader has it from the database alone.
    await leader.kill('SIGKILL')
    await until('the next leader', () => put(follower, 'after').then(yes, no))
    assert.deepEqual(await namesAt(follower), ['after', ...restored])
    assert.ok(data.Index > data.SnapshotIndex)
  })

  test('cluster: two servers', async (t) => {
    const place = await aPlace(t, postgres)
    // Who leads changes from one story to the next.
    let pair = await twoServers(t, place)
    const { leader: a, follower: b } = pair

    await t.test('cluster: a server with another key is refused with a sentence', async (own) => {
      const other = startAgent(own, ['--server', '--data-dir', `${place.directory}/other`], {
        environment: {
          REEVE_DATABASE: place.url,
          REEVE_CLUSTER_KEY: 'quite another key than that',
        },
      })
      await until('it to end', () => other.child.exitCode ?? undefined)
      assert.match(other.output(), /sealed with another key/)
    })

    await t.test(
      'cluster: a follower answers stale reads itself and passes the rest on',
      async () => {
        const { leader, follower } = pair
        await put(follower, 'by-follower')
        assert.deepEqual(await namesAt(leader), ['by-follower', 'default'])
        assert.deepEqual(await namesAt(follower), ['by-follower', 'default'])
        assert.equal(await leaderOf(follower), leader.address)
        const stale = await until('the follower to have seen it', async () => {
          const answer = await fetch(`${follower.address}/v1/namespaces?stale`)
          return (await answer.text()).includes('by-follower') ? answer : undefined
        })
        assert.equal(stale.headers.get(HEADERS.knownLeader), 'true')
        assert.ok(Number(stale.headers.get(HEADERS.lastContact)) < whenBusy(2_000))
        assert.equal(await statusOf(follower.address, '/v1/namespaces?consistent'), 200)
        assert.equal(await statusOf(leader.address, '/v1/namespaces?consistent'), 200)
        assert.equal(await statusOf(follower.address, '/v1/namespace/none'), 404)
      },
    )

    await t.test(
      'cluster: a blocking query and the event stream work by way of a follower',
      async () => {
        const { leader, follower } = pair
        const stream = await fetch(`${follower.address}/v1/event/stream?topic=NodePool`)
        const { headers } = await fetch(`${follower.address}/v1/namespaces`)
        const index = headers.get(HEADERS.index)
        const waiting = fetch(`${follower.address}/v1/namespaces?index=${index}&wait=30s`)
        const isStale = fetch(`${follower.address}/v1/namespaces?stale&index=${index}&wait=30s`)
        await put(leader, 'news')
        await leader.client.v1.writeNodePool({ body: { Name: 'fresh' } })
        assert.match(await (await waiting).text(), /news/)
        assert.match(await (await isStale).text(), /news/)
        const reader = stream.body?.getReader()
        let text = ''
        while (!text.includes('"fresh"')) {
          const { value, done } = (await reader?.read()) ?? { value: undefined, done: true }
          assert.ok(!done, 'the stream goes on')
          text += Buffer.from(value ?? []).toString()
        }
        await reader?.cancel()
      },
    )

    await t.test(
      'cluster: a leader that was paused past its lease neither writes nor answers as leader',
      async () => {
        const { leader, follower } = pair
        const known = await namesAt(leader)
        await put(leader, 'paused')
        leader.child.kill('SIGSTOP')
        await until('a write to be taken', () => put(follower, 'during').then(yes, no))
        // Sent while it sleeps: the first thing it finds when it wakes.
        const asked = fetch(`${leader.address}/v1/namespaces`).then(textOf200, no)
        const written = fetch(`${leader.address}/v1/namespace`, {
          method: 'PUT',
          body: JSON.stringify({ Name: 'stray' }),
        }).then(textOf200, no)
        leader.child.kill('SIGCONT')
        // It may hang up while it restarts; its responses are never of the earlier state.
        assert.match((await asked) ?? 'during', /during/)
        const isTaken = (await written) !== undefined
        await until('it to follow', async () =>
          (await leaderOf(leader)) === follower.address ? true : undefined,
        )
        const names = await namesAt(follower)
        // Taken only when it was passed on to the one that leads.
        assert.deepEqual(names, named(known, 'paused', 'during', ...(isTaken ? ['stray'] : [])))
        assert.deepEqual(await namesAt(leader), names)
      },
    )

    pair = { leader: b, follower: a }
    await t.test(
      'cluster: when the leader stops, also amid a request, the follower leads in two seconds',
      async (own) => {
        const { leader, follower } = pair
        await put(leader, 'stopped')
        const slow = connect(Number(new URL(leader.address).port), '127.0.0.1')
        slow.on('error', () => undefined)
        slow.write('PUT /v1/jobs HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 99\r\n\r\n{')
        const stopping = leader.kill('SIGTERM')
        assert.equal(await stopping, 0, leader.output())
        const stoppedMs = performance.now()
        await until('a write to be taken', () => put(follower, 'after-stop').then(yes, no))
        const tookMs = performance.now() - stoppedMs
        own.diagnostic(`took over in ${Math.round(tookMs)} ms`)
        assert.ok(tookMs < whenBusy(2_000), `${tookMs} ms`)
      },
    )

    pair = { leader: a, follower: await startFollower(t, { ...place, name: 'b' }) }
    await t.test(
      'cluster: without a leader writes are refused and stale reads answered',
      async () => {
        const { leader, follower } = pair
        const known = await namesAt(leader)
        await put(leader, 'orphaned')
        await until('the follower to have seen it', async () =>
          (await (await fetch(`${follower.address}/v1/namespaces?stale`)).text()).includes(
            'orphaned',
          )
            ? true
            : undefined,
        )
        leader.child.kill('SIGSTOP')
        follower.child.kill('SIGSTOP')
        await postgres.kill()
        follower.child.kill('SIGCONT')
        const refused = await until('a refusal', async () => {
          const answer = await fetch(`${follower.address}/v1/namespaces`)
          const text = await answer.text()
          return answer.status === 503 && /no leader/.test(text) ? text : undefined
        })
        assert.match(refused, /^no leader: /)
        const stale = await fetch(`${follower.address}/v1/namespaces?stale`)
        assert.equal(stale.headers.get(HEADERS.knownLeader), 'false')
        assert.ok(Number(stale.headers.get(HEADERS.lastContact)) > 0)
        await postgres.start()
        await until('a write to be taken', () => put(follower, 'after-all').then(yes, no))
        assert.deepEqual(await namesAt(follower), named(known, 'orphaned', 'after-all'))
        leader.child.kill('SIGCONT')
      },
    )

    pair = { leader: pair.follower, follower: a }
    await until('it to follow', async () =>
      (await leaderOf(a)) === pair.leader.address ? true : undefined,
    )
    await t.test(
      'cluster: when the leader is killed the follower leads in less than five seconds',
      async (own) => {
        const { leader, follower } = pair
        const known = await namesAt(leader)
        await put(leader, 'killed')
        const killedMs = performance.now()
        await leader.kill('SIGKILL')
        assert.equal(await statusOf(follower.address, '/v1/namespaces?stale'), 200)
        await until('a write to be taken', () => put(follower, 'after-kill').then(yes, no))
        const tookMs = performance.now() - killedMs
        own.diagnostic(`took over in ${Math.round(tookMs)} ms`)
        assert.ok(tookMs < whenBusy(5_000), `${tookMs} ms`)
        assert.deepEqual(await namesAt(follower), named(known, 'killed', 'after-kill'))
        assert.equal(await leaderOf(follower), follower.address)
      },
    )

    pair = { leader: a, follower: await startFollower(t, { ...place, name: 'b' }) }
    await t.test(
      'cluster: tasks go on when the leader is killed, and nodes find the next',
      async (own) => {
        const { leader, follower } = pair
        const directory = await temporaryDirectory(own)
        const servers = [follower, leader].flatMap(({ address }) => [
          '--join',
          new URL(address).host,
        ])
        // It dials the follower first, which passes its channel on.
        startAgent(
          own,
          ['--client', '--data-dir', `${directory}/node`, '--node-name', 'n', ...servers],
          {
            environment: {
              REEVE_JOIN_TOKEN: await readFile(`${leader.dataDirectory}/server/join-token`, 'utf8'),
              REEVE_RAW_EXEC: 'true',
            },
          },
        )
        await runJob(follower, 'first')
        const [running] = await allocationsOf(follower, 'first')
        await leader.kill('SIGKILL')
        await until('a job to be taken', () => runJob(follower, 'second').then(yes, no))
        const [still] = await allocationsOf(follower, 'first')
        assert.equal(still?.ID, running?.ID, 'the same allocation')
        assert.equal(still?.ClientStatus, 'running')
      },
    )
  })
}

async function runJob(server: ServerProcess, id: string): Promise<void> {
  const Config = { command: '/bin/sleep', args: ['300'] }
  const Tasks = [{ Name: 'task', Driver: 'raw_exec', Config }]
  await server.client.v1.registerJob({
    body: { Job: { ID: id, TaskGroups: [{ Name: 'g', Tasks }] } },
  })
  await until(`${id} to run`, async () => {
    const [allocation] = await allocationsOf(server, id)
    return allocation?.ClientStatus === 'running' ? true : undefined
  })
}

async function allocationsOf({ client }: ServerProcess, id: string) {
  return (await client.v1.listJobAllocations({ params: { job_id: id } })).data
}

async function aPlace(t: TestContext, postgres: TestPostgres) {
  return { url: await postgres.newDatabase(), directory: await temporaryDirectory(t) }
}

interface Pair {
  readonly leader: ServerProcess
  readonly follower: ServerProcess
}

async function twoServers(t: TestContext, place: Omit<ServerPlace, 'name'>): Promise<Pair> {
  const leader = await startServer(t, { ...place, name: 'a' })
  await until('a leader', () => leaderOf(leader))
  return { leader, follower: await startFollower(t, { ...place, name: 'b' }) }
}

async function startFollower(t: TestContext, place: ServerPlace): Promise<ServerProcess> {
  const follower = await startServer(t, place)
  await until('the follower to know it', () => leaderOf(follower))
  return follower
}

const named = (known: readonly string[], ...more: readonly string[]): readonly string[] =>
  [...known, ...more].toSorted()

async function put({ client }: ServerProcess, name: string): Promise<void> {
  await client.v1.writeNamespace({ body: { Name: name } })
}

async function namesAt({ client }: ServerProcess): Promise<string[]> {
  const { data } = await client.v1.listNamespaces({})
  return data.map(({ Name }) => Name).toSorted()
}

async function textOf200(answer: Response): Promise<string | undefined> {
  const text = await answer.text().catch(no)
  return answer.status === 200 ? text : undefined
}

const yes = (): true => true
const no = (): undefined => undefined
