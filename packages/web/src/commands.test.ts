import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatCurl, quoteShellArg, type ApiCall } from './commands.ts'

const address = 'http://127.0.0.1:4646'
const CASES: readonly {
  readonly call: ApiCall
  readonly hasToken?: boolean
  readonly line: string
}[] = [
  { call: { path: '/v1/jobs' }, line: 'curl http://127.0.0.1:4646/v1/jobs' },
  {
    call: { path: '/v1/jobs', query: { namespace: '*', prefix: undefined } },
    line: `curl 'http://127.0.0.1:4646/v1/jobs?namespace=*'`,
  },
  {
    call: { path: '/v1/job/web', method: 'DELETE' },
    hasToken: true,
    line: 'curl -X DELETE -H "X-Service-Token: $REEVE_TOKEN" http://127.0.0.1:4646/v1/job/web',
  },
  {
    call: { path: '/v1/job/web/scale', method: 'POST', body: { Message: "it's" } },
    line: `curl -X POST http://127.0.0.1:4646/v1/job/web/scale -d '{"Message":"it'\\''s"}'`,
  },
  {
    call: { path: '/api/v2/organizations' },
    line: 'curl -H "Authorization: Bearer $REEVE_TOKEN" http://127.0.0.1:4646/api/v2/organizations',
  },
]

for (const { call, hasToken = false, line } of CASES)
  test(`the request in a terminal: ${line}`, () =>
    assert.equal(formatCurl(call, { address, hasToken }), line))

test('a plain word needs no quotes', () => assert.equal(quoteShellArg('web-1.2'), 'web-1.2'))
