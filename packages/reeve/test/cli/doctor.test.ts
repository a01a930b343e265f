import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { createClient } from '@reeve/sdk'
import { atEnd } from '../build/at-end.ts'
import { countReadyNodes } from '../../src/cli/doctor/server-checks.ts'
import { aCommandLine } from '../build/cli.ts'

test('doctor', async (t) => {
  const reeve = await aCommandLine(t)

  await t.test('a healthy installation has no complaint', async () => {
    const out = await reeve.ok('doctor')
    assert.match(out, /✓ The server of the agent at http:\S+ says: ok/)
    assert.match(out, /✓ The clocks of this machine and of the server agree/)
    assert.match(out, /✓ The leader is 127\.0\.0\.1:\d+/)
    assert.match(out, /✓ ACLs are disabled/)
    assert.match(out, /✓ 1 node of 1 can run allocations/)
    assert.match(out, /✓ All ready nodes are connected \(1\)/)
    assert.match(out, /[✓!] The disk of the server has (?:only )?\d+ % free/)
    assert.match(out, /✓ No job waits for capacity/)
    assert.doesNotMatch(out, /✗/)
  })

  await t.test(
    'a token that the governance API does not know is not one that is missing',
    async () => {
      // The token of a dev agent is kept in the home of its person.
      const without = await reeve.ok('doctor', { environment: { HOME: '/nowhere' } })
      assert.match(
        without,
        /! No token is configured; the governance API requires one\.\n {2}Keep one with/,
      )
      const unknown = await reeve.ok('doctor --token 6ba7b810-9dad-11d1-80b4-00c04fd430c8')
      assert.match(unknown, /! The governance API does not know the token\./)
    },
  )

  await t.test('findings are data for machines', async () => {
    const findings: unknown = JSON.parse(await reeve.ok('doctor --json'))
    assert.ok(Array.isArray(findings))
    assert.deepEqual(new Set(findings.map((one) => Object.keys(one)[0])), new Set(['state']))
  })

  await t.test('a node that takes no work is bad, and says how to open it', async () => {
    const { data } = await reeve.client.v1.listNodes()
    const params = { node_id: data[0]?.ID ?? '' }
    await reeve.client.v1.setNodeEligibility({ params, body: { Eligibility: 'ineligible' } })
    const { code, out } = await reeve.run('doctor')
    assert.equal(code, 1)
    assert.match(out, /✗ No node can run allocations\./)
    assert.match(out, /! 1 node is ineligible: "[^"]+"\.\n {2}"reeve node eligibility --enable/)
    await reeve.client.v1.setNodeEligibility({ params, body: { Eligibility: 'eligible' } })
  })

  await t.test('a server without a leader says so, and nothing is said of the token', async () => {
    const answers: Readonly<Record<string, readonly [number, string]>> = {
      '/v1/agent/health': [500, '{"server":{"ok":false,"message":"no leader"}}'],
      '/v1/status/leader': [200, '""'],
    }
    const server = createServer(({ url = '' }, response) => {
      const [status, text] = answers[url] ?? [503, 'no leader: try again']
      response.writeHead(status).end(text)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    atEnd(t, () => server.close())
    const address = server.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    const { code, out } = await reeve.run(
      `doctor --token sesame --address http://127.0.0.1:${port}`,
    )
    assert.equal(code, 1)
    assert.match(out, /^✗ The server of the agent at \S+ says: no leader\n/)
    assert.equal(out.split('✗ no leader: try again\n').length, 2, 'it is said once')
    assert.doesNotMatch(out, /The token/)
  })

  await t.test('a server that does not answer ends the checks', async () => {
    const { code, out } = await reeve.run('doctor --address http://127.0.0.1:1')
    assert.equal(code, 1)
    assert.match(
      out,
      /^✗ Cannot connect to the server at http:\/\/127\.0\.0\.1:1 \(from --address\)/,
    )
    assert.match(out, /\n {2}Start one with "reeve agent --dev"/)
    assert.equal(out.split('\n').length, 3)
  })
})

test('doctor: the ready nodes of all pages are counted', async (t) => {
  const ready = { Status: 'ready' }
  const server = createServer(({ url = '' }, response) => {
    const isLast = url.includes('next_token=b')
    if (!isLast) response.setHeader('X-Service-NextToken', 'b')
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(isLast ? [ready] : [ready, { Status: 'down' }, ready]))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(t, () => server.close())
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  const client = createClient({ address: `http://127.0.0.1:${port}` })
  assert.equal(await countReadyNodes({ client, signal: t.signal }), 3)
})
