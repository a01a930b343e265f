import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createClient } from '@reeve/sdk'
import { createAuthority } from '../../src/cli/tls/issue-certificate.ts'
import { DEFAULT_CIPHER_SUITES, loadTls } from '../../src/tls/index.ts'
import { commandLineAt } from '../build/cli.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'

/** A command line that reaches no server: certificates need none. */
async function aLine(t: TestContext) {
  const directory = await temporaryDirectory(t)
  const address = 'http://127.0.0.1:1'
  return commandLineAt({ address, client: createClient({ address }), directory })
}

test('tls: agents accept the certificates', async (t) => {
  const line = await aLine(t)
  const { directory } = line
  const made = await line.ok('tls ca create')
  assert.match(
    made,
    /^reeve-ca\.pem and reeve-ca\.key written\.\nNext:\n\n {2}reeve tls cert create/,
  )
  await line.ok('tls cert create --server --dns reeve.example --ip 10.0.0.1 --ip fd00::1')
  await line.ok('tls cert create --node --days 30')
  const at = (file: string): string => join(directory, file)
  for (const [name, isServer] of [
    ['server-global', true],
    ['client-global', false],
  ] as const)
    await loadTls({
      region: 'global',
      isServer,
      isMutual: true,
      caFile: at('reeve-ca.pem'),
      certFile: at(`${name}.pem`),
      keyFile: at(`${name}.key`),
      verifiesServerName: true,
      requiresClientCert: false,
      minVersion: 'tls12',
      cipherSuites: DEFAULT_CIPHER_SUITES,
    })
  const { mode } = await stat(at('server-global.key'))
  assert.equal(mode & 0o777, 0o600)
  const certificate = new X509Certificate(await readFile(at('server-global.pem')))
  assert.deepEqual(certificate.subjectAltName?.split(', '), [
    'DNS:server.global.reeve',
    'DNS:localhost',
    'DNS:reeve.example',
    'IP Address:127.0.0.1',
    'IP Address:10.0.0.1',
    'IP Address:FD00:0:0:0:0:0:0:1',
  ])
})

const openssl = spawnSync('openssl', ['version']).stdout?.toString() ?? ''
const skip = openssl.startsWith('OpenSSL 3') ? false : 'OpenSSL 3 is not installed'

test('tls: OpenSSL verifies the certificates strictly', { skip }, async (t) => {
  const line = await aLine(t)
  await line.ok(['tls', 'ca', 'create', '--common-name', 'Größe & Co', 'ca'])
  await line.ok('tls cert create --server --ca ca.pem --ca-key ca.key server')
  await line.ok('tls cert create --cli --ca ca.pem --ca-key ca.key ada')
  const verify = (purpose: string, file: string) =>
    spawnSync(
      'openssl',
      ['verify', '-x509_strict', '-CAfile', 'ca.pem', '-purpose', purpose, file],
      { cwd: line.directory, encoding: 'utf8' },
    )
  for (const [purpose, file] of [
    ['sslserver', 'server.pem'],
    ['sslclient', 'server.pem'],
    ['sslclient', 'ada.pem'],
  ] as const) {
    const { stdout, stderr } = verify(purpose, file)
    assert.equal(stdout, `${file}: OK\n`, stderr)
  }
  assert.notEqual(verify('sslserver', 'ada.pem').status, 0)
})

test('tls: an authority that was created elsewhere signs too', { skip }, async (t) => {
  const line = await aLine(t)
  const subject = ['-subj', '/O=Example/CN=Example CA', '-days', '10', '-noenc']
  for (const [name, key] of [
    ['rsa', ['-newkey', 'rsa:2048']],
    ['ed', ['-newkey', 'ed25519']],
    ['p384', ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384']],
  ] as const) {
    const files = ['-keyout', `${name}.key`, '-out', `${name}.pem`]
    const made = spawnSync('openssl', ['req', '-x509', ...key, ...subject, ...files], {
      cwd: line.directory,
      encoding: 'utf8',
    })
    assert.equal(made.status, 0, made.stderr)
    const flags = `--ca ${name}.pem --ca-key ${name}.key`
    const ended = await line.run(`tls cert create --node ${flags} of-${name}`)
    assert.equal(ended.code, 0, ended.err)
    assert.match(ended.err, /^Valid until \S+, as the authority is\.\n$/)
    assert.equal((await line.run(`tls info --ca ${name}.pem of-${name}.pem`)).code, 0)
  }
})

test('tls info: what a certificate is for', async (t) => {
  const line = await aLine(t)
  await line.ok('tls ca create')
  await line.ok('tls cert create --server --region eu')
  const text = await line.ok('tls info --ca reeve-ca.pem server-eu.pem')
  assert.match(text, /^Subject += CN=server\.eu\.reeve\nIssuer += CN=Reeve CA\nAuthority += no\n/)
  assert.match(text, /\nUsages += serverAuth, clientAuth\nRole += server in region eu\n/)
  assert.match(text, /\nKey += ec prime256v1\n/)
  assert.match(text, /\nValid until += \S+ \(36[45] days left\)\n[^]*\nSigned by --ca += yes\n$/)
  const json = JSON.parse(await line.ok('tls info --json reeve-ca.pem'))
  assert.deepEqual([json.Authority, json.Valid, json.Names], [true, true, []])
  await line.ok('tls ca create other')
  const foreign = await line.run('tls info --ca other.pem server-eu.pem')
  assert.equal(foreign.code, 1)
  assert.match(foreign.out, /Signed by --ca += no\n$/)
})

test('docs/how-to/tls.md: the commands work', async (t) => {
  const page = join(import.meta.dirname, '../../../../docs/how-to/tls.md')
  const [, block = ''] = /^```shell\n([^]*?)^```$/m.exec(await readFile(page, 'utf8')) ?? []
  const lines = block.trim().split('\n')
  assert.equal(lines.length, 4)
  const line = await aLine(t)
  for (const text of lines) await line.ok(text.replace(/^reeve /, ''))
})

const MISTAKES = [
  {
    line: 'tls cert create --server',
    code: 1,
    says: /"reeve-ca\.pem" cannot be read: .*\n.*tls ca create/,
  },
  { line: 'tls cert create --server --node', code: 2, says: /choose exactly one role/ },
  { line: 'tls cert create', code: 2, says: /choose exactly one role/ },
  {
    line: 'tls cert create --node --dns not_*valid',
    code: 2,
    says: /"not_\*valid" is not a valid DNS name/,
  },
  {
    line: 'tls cert create --node --ip 1.2.3',
    code: 2,
    says: /needs an IP address, not "1\.2\.3"/,
  },
  { line: 'tls ca create --common-name=', code: 2, says: /--common-name has 1 to 64 characters/ },
  {
    line: `tls ca create --common-name ${'x'.repeat(65)}`,
    code: 2,
    says: /--common-name has 1 to 64 characters/,
  },
  {
    line: 'tls cert create --node --ca old.pem --ca-key old.key',
    code: 1,
    says: /The certificate of the authority expired at \S+Z\.\n.*tls ca create/,
  },
  {
    line: 'tls cert create --node --ca old.pem --ca-key text.pem',
    code: 1,
    says: /the private key cannot be read: .+\./,
  },
  {
    line: 'tls cert create --node --ca old.pem --ca-key locked.key',
    code: 1,
    says: /the private key has a passphrase/,
  },
  { line: 'tls ca create --days 0', code: 2, says: /--days is between 1 and 36500/ },
  { line: 'tls info nothing.pem', code: 1, says: /"nothing\.pem" cannot be read/ },
  { line: 'tls info text.pem', code: 1, says: /"text\.pem" holds no certificate/ },
]

test('tls: mistakes are explained, and change nothing', async (t) => {
  const line = await aLine(t)
  await line.file('text.pem', 'hello')
  const old = createAuthority('Old CA', { fromMs: 0, toMs: Date.now() - 1 })
  await line.file('old.pem', old.certificate)
  await line.file('old.key', old.key)
  const locked = { format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'x' } as const
  await line.file('locked.key', createPrivateKey(old.key).export(locked).toString())
  const files = await readdir(line.directory)
  for (const { line: words, code, says } of MISTAKES) {
    const ended = await line.run(words)
    assert.equal(ended.code, code, words)
    assert.match(ended.err, says)
    assert.deepEqual(await readdir(line.directory), files, words)
  }
  await line.ok('tls ca create')
  const before = await readFile(join(line.directory, 'reeve-ca.key'), 'utf8')
  const again = await line.run('tls ca create')
  assert.equal(again.code, 1)
  assert.match(again.err, /reeve-ca\.pem already exists\.\n.*--force/)
  assert.equal(await readFile(join(line.directory, 'reeve-ca.key'), 'utf8'), before)
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  await writeFile(join(line.directory, 'strange.key'), pem)
  const strange = await line.run('tls cert create --node --ca-key strange.key')
  assert.match(strange.err, /the private key does not match the certificate/)
  await line.ok('tls cert create --node')
  const leaf = await line.run(
    'tls cert create --node --ca client-global.pem --ca-key client-global.key x',
  )
  assert.match(leaf.err, /the certificate is not that of an authority/)
})

test('tls: --force replaces both files or neither', async (t) => {
  const line = await aLine(t)
  const at = (file: string): string => join(line.directory, file)
  await line.ok('tls ca create')
  const before = await readFile(at('reeve-ca.key'), 'utf8')
  await line.ok('tls ca create --force')
  const key = await readFile(at('reeve-ca.key'), 'utf8')
  assert.notEqual(key, before)
  assert.equal((await stat(at('reeve-ca.key'))).mode & 0o777, 0o600)
  assert.deepEqual((await readdir(line.directory)).toSorted(), ['reeve-ca.key', 'reeve-ca.pem'])

  await rm(at('reeve-ca.pem'))
  await mkdir(at('reeve-ca.pem'))
  const failed = await line.run('tls ca create --force')
  assert.equal(failed.code, 1)
  assert.match(failed.err, /reeve-ca\.pem cannot be written/)
  assert.equal(await readFile(at('reeve-ca.key'), 'utf8'), key)
  assert.deepEqual((await readdir(line.directory)).toSorted(), ['reeve-ca.key', 'reeve-ca.pem'])
})
