import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HEADERS } from '@reeve/contract'
import { register } from './cluster.ts'
import { createTestServer, type TestServer } from './harness.ts'

/**
 * Clients compare the code of an error and never its text. The codes of refusals are compared by
 * the harness on every error of the other tests; here are one of each kind and their values.
 */
async function codeOf(
  server: TestServer,
  call: { readonly method: string; readonly url: string; readonly body?: unknown },
): Promise<readonly [status: number, code: unknown]> {
  const { method, url, body } = call
  const options = body === undefined ? {} : { body: JSON.stringify(body) }
  const reply = await server.send(method, url, options)
  return [reply.status, reply.headers[HEADERS.errorCode.toLowerCase()]]
}

const JOB = register({ ID: 'web' }).body

const ERRORS = [
  { name: 'a job that does not exist', url: '/v1/job/gone', want: [404, 'job-not-found'] },
  { name: 'a wrong parameter', url: '/v1/jobs?index=x', want: [400, 'invalid-input'] },
  { name: 'an ACL route without ACLs', url: '/v1/acl/tokens', want: [400, 'acl-disabled'] },
  { name: 'an unknown region', url: '/v1/jobs?region=mars', want: [404, 'region-unknown'] },
  {
    name: 'a job that breaks rules',
    method: 'POST',
    url: '/v1/jobs',
    body: { Job: { ID: 'web' } },
    want: [400, 'job-invalid'],
  },
  {
    name: 'a job in a namespace that does not exist',
    method: 'POST',
    url: '/v1/jobs?namespace=nowhere',
    body: JOB,
    want: [400, 'unknown-namespace'],
  },
  { name: 'an unknown path', url: '/nope', want: [404, 'route-not-found'] },
  { name: 'a wrong method', method: 'PATCH', url: '/v1/jobs', want: [405, 'method-not-allowed'] },
  { name: 'a path that does not decode', url: '/v1/job/%zz', want: [400, 'bad-request'] },
  { name: 'a long path', url: `/v1/node/${'a'.repeat(5_000)}`, want: [414, 'url-too-long'] },
  { name: 'a missing bearer token', url: '/api/v2/account/details', want: [401, 'unauthorized'] },
  { name: 'an unknown path of /api/v2', url: '/api/v2/nope', want: [404, 'route-not-found'] },
]

for (const { name, method = 'GET', url, body, want } of ERRORS)
  test(`error codes: ${name}`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    assert.deepEqual(await codeOf(server, { method, url, body }), want)
  })

test('error codes: a success has none', async () => {
  const server = await createTestServer({ aclEnabled: false })
  assert.deepEqual(await codeOf(server, { method: 'GET', url: '/v1/jobs' }), [200, undefined])
})

test('error codes: a bug has the code of every bug', async () => {
  const health = (): never => assert.fail('secret reason')
  const server = await createTestServer({ aclEnabled: false, agent: { health } })
  const want = [500, 'internal-error']
  assert.deepEqual(await codeOf(server, { method: 'GET', url: '/v1/agent/health' }), want)
})
