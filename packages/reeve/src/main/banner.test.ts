import assert from 'node:assert/strict'
import test from 'node:test'
import { anAgentConfig, type GivenSources } from '../../test/build/agent-config.ts'
import { renderBanner } from './banner.ts'

function banner(given: GivenSources, governanceToken?: string): string {
  const config = anAgentConfig(given)
  const program = {
    httpAddress: 'http://127.0.0.1:4646',
    governanceToken,
    dataDirectory: config.dataDirectory,
    stop: async () => {},
    failed: new Promise<never>(() => {}),
  }
  return renderBanner({ config, program, version: '1.2.3' })
}

test('banner: --dev shows where everything is and how to run the first job', () => {
  const job =
    '{"Job":{"ID":"hello","TaskGroups":[{"Name":"hello","Tasks":[{"Name":"hello",' +
    '"Driver":"raw_exec","Config":{"command":"/bin/sh",' +
    '"args":["-c","while true; do date; sleep 5; done"]}}]}]}}'
  assert.equal(
    banner({ flags: { dev: true } }, 'token-1'),
    [
      'Reeve 1.2.3 runs as server and node for trying things out (--dev).',
      '',
      '  API            http://127.0.0.1:4646',
      '  Documentation  http://127.0.0.1:4646/docs',
      '  Data           /tmp/reeve-dev-1 (removed at the end; --data-dir keeps it)',
      '  ACLs           off: /v1 does whatever it is asked',
      '  /api/v2        Authorization: Bearer token-1',
      '                 also in /tmp/reeve-dev-1/server/governance-token',
      '',
      'What to try next:',
      '  Run a job:',
      `    curl http://127.0.0.1:4646/v1/jobs -d '${job}'`,
      '  See where it runs:',
      '    curl http://127.0.0.1:4646/v1/job/hello/allocations',
      '',
      '',
    ].join('\n'),
  )
})

test('banner: with ACLs the first step makes a token, and the others use it', () => {
  const text = banner({ flags: { dev: true, acl: true, dataDirectory: '/data' } })
  assert.match(text, /ACLs +on\n/)
  assert.match(text, /curl -X POST http:\/\/127\.0\.0\.1:4646\/v1\/acl\/bootstrap\n/)
  assert.match(text, /curl -H "X-Service-Token: \$REEVE_TOKEN" \S+\/v1\/jobs -d /)
  assert.match(text, /Data +\/data\n/)
})

test('banner: a server without a node of its own shows the nodes instead of a job', () => {
  const text = banner({ flags: { server: true, dataDirectory: '/data' } })
  assert.match(text, /runs as server\./)
  assert.match(text, /See the nodes:/)
  assert.ok(!text.includes('Run a job'))
})

test('banner: a node shows its servers and no API of its own', () => {
  const text = banner({ flags: { client: true, dataDirectory: '/data', servers: ['10.0.0.1'] } })
  assert.match(text, /runs as node\./)
  assert.match(text, /Servers +10\.0\.0\.1:4646\n/)
  assert.match(text, /http:\/\/10\.0\.0\.1:4646\/v1\/nodes/)
  assert.ok(!text.includes('Documentation'))
  assert.ok(!text.includes('bootstrap'))
})
