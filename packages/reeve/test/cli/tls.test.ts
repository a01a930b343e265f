import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createClient } from '@reeve/sdk'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { AUTHORITY_FILE, certificateFiles, type Holder } from '../build/certificates.ts'
import { commandLineAt, type CommandLineBench } from '../build/cli.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startAgent } from '../e2e/program-process.ts'

const USER = certificateFiles('user')
const BY_USER = ['--client-cert', USER.certFile, '--client-key', USER.keyFile]

test('tls: a server with a certificate of its own authority is reached by naming it', async (t) => {
  const line = await aSecureServer(t, 'server')
  const refused = await line.run('node status')
  assert.equal(refused.code, EXIT_CODES.unreachable, refused.err)
  assert.match(refused.err, /its certificate is not trusted[^]*--ca-cert or REEVE_CACERT/)
  await line.ok(['node', 'status', '--ca-cert', AUTHORITY_FILE])
  await line.ok('node status', { environment: { REEVE_CACERT: AUTHORITY_FILE } })
  await line.ok('node status --tls-skip-verify')
  await line.ok('node status', { environment: { REEVE_SKIP_VERIFY: 'true' } })
  // Bodies, streams and terminals go the same way.
  const environment = { REEVE_CACERT: AUTHORITY_FILE }
  const job = `job "held" {
    group "g" {
      task "t" {
        driver = "raw_exec"
        config {
          command = "/bin/sh"
          args    = ["-c", "echo hello; exec sleep 300"]
        }
      }
    }
  }`
  await line.file('held.hcl', job)
  await line.ok('job run held.hcl', { environment })
  assert.equal(await line.ok('job logs held', { environment }), 'hello\n')
  const ran = await line.ok('alloc exec --job held /bin/echo inside', { environment })
  assert.equal(ran, 'inside\n')
  const events = await line.run('event stream --topic Job --index 1', {
    environment,
    signal: AbortSignal.timeout(1_000),
  })
  assert.match(events.out, /"held"/)
})

test('tls: a certificate for another name needs that name', async (t) => {
  const unverified = { REEVE_TLS_VERIFY_SERVER_HOSTNAME: 'false' }
  const line = await aSecureServer(t, 'client', unverified)
  const trusted = ['node', 'status', '--ca-cert', AUTHORITY_FILE]
  const refused = await line.run(trusted)
  assert.match(refused.err, /its certificate is for another host[^]*--tls-server-name/)
  await line.ok([...trusted, '--tls-server-name', 'client.global.reeve'])
  const environment = { REEVE_TLS_SERVER_NAME: 'client.global.reeve', REEVE_CACERT: AUTHORITY_FILE }
  await line.ok('node status', { environment })
})

test('tls: a server that verifies its callers lets those with a certificate in', async (t) => {
  const line = await aSecureServer(t, 'server', { REEVE_TLS_VERIFY_HTTPS_CLIENT: 'true' })
  const trusted = ['node', 'status', '--ca-cert', AUTHORITY_FILE]
  const refused = await line.run(trusted)
  assert.equal(refused.code, EXIT_CODES.unreachable)
  assert.match(refused.err, /it asks for a certificate[^]*--client-cert/)
  await line.ok([...trusted, ...BY_USER])
  const environment = {
    REEVE_CACERT: AUTHORITY_FILE,
    REEVE_CLIENT_CERT: USER.certFile,
    REEVE_CLIENT_KEY: USER.keyFile,
  }
  await line.ok('node status', { environment })
})

const mistakes = [
  {
    name: 'a file that is not there',
    flags: ['--ca-cert', 'none.pem'],
    says: /cannot be read: ENOENT/,
  },
  {
    name: 'a file of something else',
    flags: ['--ca-cert', 'job.hcl'],
    says: /nothing in PEM form/,
  },
  {
    name: 'a certificate without its key',
    flags: ['--client-cert', USER.certFile],
    says: /go together: --client-cert and --client-key/,
  },
]
for (const { name, flags, says } of mistakes)
  test(`tls: ${name} is a mistake of whoever wrote it`, async (t) => {
    const directory = await temporaryDirectory(t)
    const address = 'https://127.0.0.1:1'
    const line = commandLineAt({ address, client: createClient({ address }), directory })
    await line.file('job.hcl', 'job "x" {}')
    const ended = await line.run(['node', 'status', ...flags])
    assert.equal(ended.code, EXIT_CODES.usage)
    assert.match(ended.err, says)
  })

/** A dev agent with HTTPS; its node proves itself, and the server lets it in for that. */
async function aSecureServer(
  t: TestContext,
  holder: Holder,
  more: Readonly<Record<string, string>> = {},
): Promise<CommandLineBench> {
  const directory = await temporaryDirectory(t)
  const { certFile, keyFile } = certificateFiles(holder)
  const flags = ['--dev', '--http-port', '0', '--data-dir', join(directory, 'data')]
  const agent = startAgent(t, flags, {
    environment: {
      XDG_CONFIG_HOME: join(directory, '.config'),
      REEVE_TLS_HTTP: 'true',
      REEVE_TLS_RPC: 'true',
      REEVE_TLS_CA_FILE: AUTHORITY_FILE,
      REEVE_TLS_CERT_FILE: certFile,
      REEVE_TLS_KEY_FILE: keyFile,
      ...more,
    },
  })
  const address = await until('the address', () => {
    assert.equal(agent.child.exitCode, null, agent.output())
    return /API\s+(https:\/\/\S+)/.exec(agent.output())?.[1]
  })
  return commandLineAt({ address, client: createClient({ address }), directory })
}
