import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { connect, createServer, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { atEnd } from '../../test/build/at-end.ts'
import {
  aTls,
  AUTHORITY_FILE,
  certificate,
  certificateFiles,
  type Holder,
} from '../../test/build/certificates.ts'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import {
  certificateProblem,
  DEFAULT_CIPHER_SUITES,
  loadTls,
  type TlsCredentials,
  type TlsSettings,
} from './tls-credentials.ts'
import { certificateNames, peerRoles } from './peer-role.ts'

const roles: readonly { readonly who?: Holder; readonly is: readonly string[] }[] = [
  { who: 'server', is: ['client', 'server'] },
  { who: 'client', is: ['client'] },
  { who: 'server-eu', is: [] },
  { who: 'client-eu', is: [] },
  { who: 'user', is: [] },
  { who: 'plain', is: [] },
  { who: 'foreign-server', is: [] },
  { who: 'foreign-client', is: [] },
  { is: [] },
]
for (const { who, is } of roles)
  test(`tls: ${who ?? 'nobody'} is identified as ${is.join(' and ') || 'nothing'}`, async (t) => {
    const port = await listen(t, await aTls('server'))
    const { ca, ...own } = certificate(who ?? 'server')
    const seen = await port.meet({ ca, ...(who !== undefined && own) })
    assert.deepEqual([...peerRoles(seen, 'global')].toSorted(), is)
  })

const dials: readonly Dialled[] = [
  { name: 'a server by its role', server: 'server', isBelieved: true },
  { name: 'no other role', server: 'client', isBelieved: false },
  { name: 'no certificate without one', server: 'plain', isBelieved: false },
  { name: 'no server of another region', server: 'server-eu', isBelieved: false },
  {
    name: 'a server of any region, when asked',
    server: 'server-eu',
    region: 'any',
    isBelieved: true,
  },
  { name: 'no other authority', server: 'foreign-server', isBelieved: false },
  {
    name: 'every name of the authority, where names are not verified',
    server: 'client',
    settings: { verifiesServerName: false },
    isBelieved: true,
  },
  {
    name: 'no other authority even then',
    server: 'foreign-server',
    settings: { verifiesServerName: false },
    isBelieved: false,
  },
  {
    name: 'a server by its address, where roles are not asked for',
    server: 'plain',
    settings: { isMutual: false },
    isBelieved: true,
  },
]

interface Dialled {
  readonly name: string
  readonly server: Holder
  readonly region?: 'any'
  readonly settings?: Partial<TlsSettings>
  readonly isBelieved: boolean
}

for (const { name, server, region, settings, isBelieved } of dials)
  test(`tls: a client trusts ${name}`, async (t) => {
    // A port with a certificate that an agent would refuse to start with.
    const port = await listen(t, await aTls(server, { isMutual: false }))
    const dialler = await aTls('client', settings)
    const meeting = port.meet(dialler.dialOptions(region === 'any' ? undefined : 'global'))
    if (isBelieved) await meeting
    else await assert.rejects(meeting)
  })

test('tls: an agent knows when its certificate expires', async () => {
  const tls = await aTls('server')
  const { cert } = certificate('server')
  assert.equal(tls.expiresAtMs, new X509Certificate(cert).validToDate.getTime())
})

test("tls: the agent's own port is trusted whatever its issuer, and no other", async (t) => {
  const own = await aTls('foreign-server', { isMutual: false })
  await (await listen(t, own)).meet(own.selfDialOptions())
  const other = await listen(t, await aTls('server'))
  await assert.rejects(other.meet(own.selfDialOptions()))
})

test('tls: with client verification, connections without a certificate are rejected', async (t) => {
  const port = await listen(t, await aTls('server', { requiresClientCert: true }))
  const { ca, cert, key } = certificate('user')
  await port.meet({ ca, cert, key })
  await assert.rejects(port.meet({ ca }))
  const foreign = certificate('foreign-client')
  await assert.rejects(port.meet({ ...foreign, ca }))
})

test('tls: a reload reads the files again; invalid files change nothing', async (t) => {
  const directory = await temporaryDirectory(t)
  const files = await putCertificate(directory, 'server')
  const tls = await aTls('server', files)
  const server = await listen(t, tls)
  const before = await server.serial()
  await putCertificate(directory, 'server-renewed')
  await tls.reload()
  const renewed = await server.serial()
  assert.notEqual(renewed, before)
  await writeFile(files.keyFile, certificate('client').key)
  await assert.rejects(tls.reload(), { kind: 'tls', message: /cannot be used/ })
  assert.equal(await server.serial(), renewed)
})

const mistakes = [
  { name: 'a file that is not there', certFile: '/nowhere', says: /cannot be read: ENOENT/ },
  { name: 'a file of something else', certFile: import.meta.filename, says: /in PEM form/ },
  { name: 'a key of another', keyFile: certificateFiles('client').keyFile, says: /cannot be used/ },
]
for (const { name, says, ...files } of mistakes)
  test(`tls: ${name} is reported at the start`, async () => {
    await assert.rejects(aTls('server', files), { name: 'Fault', kind: 'tls', message: says })
  })

const strangers: readonly Holder[] = ['client', 'server-eu', 'plain']
for (const holder of strangers)
  test(`tls: a server with the certificate of ${holder} is rejected at the start`, async () => {
    await assert.rejects(aTls(holder, { isServer: true }), {
      kind: 'tls',
      message: /\.pem does not name this server server\.global\.reeve, but .* Other agents would/,
    })
    await aTls(holder, { isServer: true, verifiesServerName: false })
    await aTls(holder, { isServer: true, isMutual: false })
  })

test('tls: a server keeps its certificate when the new one does not name it', async (t) => {
  const directory = await temporaryDirectory(t)
  const files = await putCertificate(directory, 'server')
  const tls = await aTls('server', { ...files, isServer: true })
  const { cert } = tls.listenOptions()
  await putCertificate(directory, 'client')
  await assert.rejects(tls.reload(), /does not name this server/)
  assert.equal(tls.listenOptions().cert, cert)
})

const UNTRUSTED = /\.pem is not signed by an authority of .*authority\.pem: .* tls\.cert_file\.$/

const chains: readonly {
  readonly holder: Holder
  readonly isServer: boolean
  /** Accepted when undefined. */
  readonly problem?: RegExp
}[] = [
  { holder: 'foreign-server', isServer: true, problem: UNTRUSTED },
  { holder: 'foreign-client', isServer: false, problem: UNTRUSTED },
  { holder: 'server-chained', isServer: true },
  {
    holder: 'server-auth-only',
    isServer: true,
    problem: /has an extended key usage without clientAuth: .* = serverAuth, clientAuth\.$/,
  },
  {
    holder: 'client-auth-only',
    isServer: true,
    problem: /has an extended key usage without serverAuth/,
  },
  { holder: 'client-auth-only', isServer: false },
  {
    holder: 'server-auth-only',
    isServer: false,
    problem: /has an extended key usage without clientAuth/,
  },
]
for (const { holder, isServer, problem } of chains)
  test(`tls: ${holder} of a ${isServer ? 'server' : 'node'} is ${problem ? 'rejected' : 'accepted'} at the start`, async () => {
    const loaded = aTls(holder, { isServer })
    if (problem === undefined) await loaded
    else await assert.rejects(loaded, { name: 'Fault', kind: 'tls', message: problem })
    // Without `rpc` other agents may get the CA elsewhere.
    await aTls(holder, { isServer, isMutual: false })
  })

test('tls: a chain without its intermediate certificate is rejected', async (t) => {
  const directory = await temporaryDirectory(t)
  const files = await putCertificate(directory, 'server-chained')
  const [leaf = ''] = certificate('server-chained').cert.split(/(?<=-----END CERTIFICATE-----\n)/)
  await writeFile(files.certFile, leaf)
  await assert.rejects(aTls('server-chained', { ...files, isServer: true }), { message: UNTRUSTED })
})

test('tls: a certificate of another authority changes nothing at a reload', async (t) => {
  const directory = await temporaryDirectory(t)
  const files = await putCertificate(directory, 'server')
  const tls = await aTls('server', { ...files, isServer: true })
  const port = await listen(t, tls)
  const before = await port.serial()
  await putCertificate(directory, 'foreign-server')
  await assert.rejects(tls.reload(), { kind: 'tls', message: /is not signed by an authority of/ })
  assert.equal(await port.serial(), before)
})

const protocols: readonly {
  readonly name: string
  readonly settings?: Partial<TlsSettings>
  readonly offer: ConnectionOptions
  /** The negotiated suite; undefined if there is none. */
  readonly agreed: string | undefined
}[] = [
  { name: 'TLS 1.3', offer: {}, agreed: 'TLS_AES_256_GCM_SHA384' },
  {
    name: 'TLS 1.2 with GCM',
    offer: { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' },
    agreed: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  },
  {
    name: 'no CBC with SHA-1',
    offer: { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA' },
    agreed: undefined,
  },
  {
    name: 'no CBC with SHA-2',
    offer: {
      maxVersion: 'TLSv1.2',
      ciphers: 'ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA384',
    },
    agreed: undefined,
  },
  {
    name: 'no TLS 1.1',
    offer: { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
    agreed: undefined,
  },
  {
    name: 'no TLS 1.2 with min_version = tls13',
    settings: { minVersion: 'tls13' },
    offer: { maxVersion: 'TLSv1.2' },
    agreed: undefined,
  },
  {
    name: 'TLS 1.3 with min_version = tls13',
    settings: { minVersion: 'tls13' },
    offer: {},
    agreed: 'TLS_AES_256_GCM_SHA384',
  },
  {
    name: 'a suite of cipher_suites',
    settings: { cipherSuites: ['TLS_AES_128_GCM_SHA256', 'ECDHE-ECDSA-AES256-SHA'] },
    offer: { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES256-SHA' },
    agreed: 'ECDHE-ECDSA-AES256-SHA',
  },
  {
    name: 'no suite beside those of cipher_suites',
    settings: { cipherSuites: ['TLS_AES_128_GCM_SHA256'] },
    offer: { ciphers: 'TLS_AES_256_GCM_SHA384' },
    agreed: undefined,
  },
]
for (const { name, settings, offer, agreed } of protocols)
  test(`tls: a port speaks ${name}`, async (t) => {
    const port = await listen(t, await aTls('server', settings))
    const meeting = port.meet({ ...certificate('client'), ...offer })
    if (agreed === undefined) await assert.rejects(meeting)
    else assert.equal((await meeting).getCipher().name, agreed)
  })

test('tls: a client offers the same suites', async (t) => {
  const { cert, key } = certificate('server')
  const weak = { cert, key, maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA' } as const
  const server = createServer(weak)
  server.on('tlsClientError', () => undefined)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  atEnd(t, () => server.close())
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const socket = connect({ ...(await aTls('client')).dialOptions(), port: address.port })
  atEnd(t, () => socket.destroy())
  await assert.rejects(once(socket, 'secureConnect'), { code: /ERR_SSL/ })
})

test('tls: a certificate is refused before its time and after it', () => {
  const found = new X509Certificate(certificate('server').cert)
  const own = { region: 'global', isServer: true, verifiesServerName: true }
  const at = (date: Date, ms: number) =>
    certificateProblem(found, { ...own, nowMs: date.getTime() + ms }) ?? ''
  assert.match(at(found.validToDate, 1), /^is valid only until/)
  assert.match(at(found.validFromDate, -1), /^is valid only from/)
  assert.equal(at(found.validToDate, 0), '')
})

test("tls: without files of its own an agent trusts the system's CAs", async () => {
  const nothing = { caFile: undefined, certFile: undefined, keyFile: undefined }
  const tls = await loadTls({
    ...nothing,
    region: 'global',
    isServer: true,
    isMutual: false,
    verifiesServerName: true,
    requiresClientCert: false,
    minVersion: 'tls12',
    cipherSuites: DEFAULT_CIPHER_SUITES,
  })
  assert.equal('ca' in tls.dialOptions(), false)
  assert.ok(AUTHORITY_FILE.endsWith('.pem'))
})

test('tls: names are read from a certificate as it wrote them', () => {
  const text = 'DNS:a.example, IP Address:10.0.0.1, DNS:B.example, DNS:"x, DNS:server.global.reeve"'
  assert.deepEqual(certificateNames({ subjectaltname: text }), ['a.example', 'b.example'])
})

/** Replaces the files of an agent, like an operator. */
async function putCertificate(directory: string, holder: Holder) {
  const files = { certFile: join(directory, 'a.pem'), keyFile: join(directory, 'a.key') }
  const { certFile, keyFile } = certificateFiles(holder)
  await copyFile(certFile, files.certFile)
  await copyFile(keyFile, files.keyFile)
  return files
}

/** A port that presents its certificate and records peers. */
async function listen(t: TestContext, tls: TlsCredentials) {
  const server = createServer(tls.listenOptions(), (socket) => socket.on('error', () => undefined))
  server.on('tlsClientError', () => undefined)
  tls.onReload(() => server.setSecureContext(tls.listenOptions()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(t, () => server.close())
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  const open = async (options: ConnectionOptions) => {
    const seen = once(server, 'secureConnection')
    seen.catch(() => undefined)
    const socket = connect({ ...options, host: '127.0.0.1', port, servername: '' })
    atEnd(t, () => socket.destroy())
    await once(socket, 'secureConnect')
    // In TLS 1.3 a client learns of a rejection only when it reads.
    const [theirs]: TLSSocket[] = await Promise.race([seen, refused(socket)])
    if (theirs === undefined) throw new Error('nobody came')
    return { socket, theirs }
  }
  return {
    meet: async (options: ConnectionOptions) => (await open(options)).theirs,
    serial: async () => {
      const { socket } = await open(certificate('client'))
      return socket.getPeerCertificate().serialNumber
    },
  }
}

async function refused(socket: TLSSocket): Promise<never> {
  await once(socket, 'close')
  throw new Error('the port hung up')
}
