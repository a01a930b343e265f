import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import { DEFAULT_CIPHER_SUITES, loadTls } from './tls-credentials.ts'

const PAGE = join(import.meta.dirname, '../../../../docs/how-to/tls.md')
const isInstalled = spawnSync('openssl', ['version']).stdout?.toString().startsWith('OpenSSL 3')
const skip = isInstalled ? false : 'OpenSSL 3 is not installed'

test(
  'tls: the commands of the documentation create certificates that agents accept',
  { skip },
  async (t) => {
    const directory = await temporaryDirectory(t)
    const blocks = [...readFileSync(PAGE, 'utf8').matchAll(/^```sh\n(.*?)^```$/gms)]
    const script = blocks.map(([, text]) => text).join('\n')
    assert.equal(blocks.length, 4)
    const ran = spawnSync('sh', ['-eu', '-c', script], { cwd: directory, encoding: 'utf8' })
    assert.equal(ran.status, 0, ran.stderr)
    assert.deepEqual(ran.stdout.trim().split('\n'), [
      'server.pem: OK',
      'server.pem: OK',
      'node.pem: OK',
    ])
    const settings = {
      region: 'global',
      isMutual: true,
      caFile: join(directory, 'ca.pem'),
      verifiesServerName: true,
      requiresClientCert: false,
      minVersion: 'tls12',
      cipherSuites: DEFAULT_CIPHER_SUITES,
    } as const
    for (const [name, isServer] of [
      ['server', true],
      ['node', false],
    ] as const) {
      const [certFile, keyFile] = [`${name}.pem`, `${name}.key`].map((file) =>
        join(directory, file),
      )
      await loadTls({ ...settings, isServer, certFile, keyFile })
    }
    // A node's certificate makes no server.
    const [certFile, keyFile] = ['node.pem', 'node.key'].map((file) => join(directory, file))
    await assert.rejects(loadTls({ ...settings, isServer: true, certFile, keyFile }), {
      message: /does not name this server/,
    })
  },
)
