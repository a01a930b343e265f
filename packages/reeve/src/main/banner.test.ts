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
    reload: async () => undefined,
  }
  return renderBanner({ config, program, version: '1.2.3' })
}

test('banner: --dev shows where everything is and how to run the first job', () => {
  assert.equal(
    banner({ flags: { dev: true } }, 'token-1'),
    [
      'Reeve 1.2.3 runs as server and node for development (--dev).',
      '',
      '  API            http://127.0.0.1:4646',
      '  Web UI         http://127.0.0.1:4646/ui/sign-in#token=token-1',
      '  Documentation  http://127.0.0.1:4646/docs',
      '  Data           /tmp/reeve-dev-1 (removed at the end; --data-dir keeps it)',
      '  ACLs           disabled: anyone who can reach /v1 has full access',
      '  /api/v2        Authorization: Bearer token-1',
      '                 also in /tmp/reeve-dev-1/server/governance-token',
      '',
      'What to try next, in a second terminal ("reeve" is bin/reeve of a checkout):',
      '  Write a first job file and run it:',
      '    reeve job init && reeve job run example.hcl',
      '  Read its output:',
      '    reeve job logs -f example',
      '  Watch the cluster:',
      '    reeve top',
      '',
      '',
    ].join('\n'),
  )
})

test('banner: with ACLs the first step makes a token, and login keeps it for the others', () => {
  const text = banner({ flags: { dev: true, acl: true, dataDirectory: '/data' } })
  assert.match(text, /ACLs +enabled\n/)
  assert.match(text, /reeve acl bootstrap\n[^]*reeve login\n[^]*reeve job run /)
  assert.ok(!text.includes('REEVE_ADDR'))
  assert.match(text, /Data +\/data\n/)
})

test('banner: a server without a node of its own shows the nodes instead of a job', () => {
  const text = banner({ flags: { server: true, dataDirectory: '/data' } })
  assert.match(text, /runs as server\./)
  assert.match(text, /List the nodes:/)
  assert.ok(!text.includes('job run'))
})

test('banner: a node with certificates shows how its servers are reached', () => {
  const flags = { client: true, dataDirectory: '/data', servers: ['10.0.0.1'] } as const
  const environment = {
    REEVE_TLS_RPC: 'true',
    REEVE_TLS_CA_FILE: '/ca.pem',
    REEVE_TLS_CERT_FILE: '/node.pem',
    REEVE_TLS_KEY_FILE: '/node.key',
  }
  assert.match(banner({ flags, environment }), /export REEVE_ADDR=https:\/\/10\.0\.0\.1:4646\n/)
})

test('banner: a node shows its servers and no API of its own', () => {
  const text = banner({ flags: { client: true, dataDirectory: '/data', servers: ['10.0.0.1'] } })
  assert.match(text, /runs as node\./)
  assert.match(text, /Servers +10\.0\.0\.1:4646\n/)
  assert.match(text, /export REEVE_ADDR=http:\/\/10\.0\.0\.1:4646\n[^]*reeve node status\n/)
  assert.ok(!text.includes('Documentation'))
  assert.ok(!text.includes('bootstrap'))
})
