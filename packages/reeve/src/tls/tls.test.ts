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
import { assertOwnCertificate } from './own-certificate.ts'
import { namesOf, peerRoles } from './peer-role.ts'
import { loadTls, type Tls, type TlsSettings } from './tls.ts'

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
  test(`tls: ${who ?? 'nobody'} is taken for ${is.join(' and ') || 'nothing'}`, async (t) => {
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
  test(`tls: who dials believes ${name}`, async (t) => {
    const port = await listen(t, await aTls(server))
    const dialler = await aTls('client', settings)
    const meeting = port.meet(dialler.dialOptions(region === 'any' ? undefined : 'global'))
    if (isBelieved) await meeting
    else await assert.rejects(meeting)
  })

test('tls: our own port is believed whoever signed it, and no other', async (t) => {
  const own = await aTls('foreign-server')
  await (await listen(t, own)).meet(own.ownDialOptions())
  const other = await listen(t, await aTls('server'))
  await assert.rejects(other.meet(own.ownDialOptions()))
})

test('tls: where callers are verified nobody gets in without a certificate', async (t) => {
  const port = await listen(t, await aTls('server', { verifiesCaller: true }))
  const { ca, cert, key } = certificate('user')
  await port.meet({ ca, cert, key })
  await assert.rejects(port.meet({ ca }))
  const foreign = certificate('foreign-client')
  await assert.rejects(port.meet({ ...foreign, ca }))
})

test('tls: files are read again, and what is wrong with them changes nothing', async (t) => {
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
  test(`tls: ${name} is told at the start`, async () => {
    await assert.rejects(aTls('server', files), { name: 'Fault', kind: 'tls', message: says })
  })

const strangers: readonly Holder[] = ['client', 'server-eu', 'plain']
for (const holder of strangers)
  test(`tls: a server with the certificate of ${holder} is told at the start`, async () => {
    await assert.rejects(aTls(holder, { isServer: true }), {
      kind: 'tls',
      message: /\.pem does not name this server server\.global\.reeve, but .* Others would not/,
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

test('tls: a certificate is refused before its time and after it', () => {
  const found = new X509Certificate(certificate('server').cert)
  const certFile = '/a.pem'
  const own = { region: 'global', isServer: true, verifiesServerName: true, certFile }
  const at = (date: Date, ms: number) => () =>
    assertOwnCertificate(found, { ...own, nowMs: date.getTime() + ms })
  assert.throws(at(found.validToDate, 1), /^Fault: The certificate of \/a\.pem is valid only until/)
  assert.throws(at(found.validFromDate, -1), /is valid only from/)
  assert.doesNotThrow(at(found.validToDate, 0))
})

test('tls: without files of its own an agent believes whom the system believes', async () => {
  const nothing = { caFile: undefined, certFile: undefined, keyFile: undefined }
  const tls = await loadTls({
    ...nothing,
    region: 'global',
    isServer: true,
    isMutual: false,
    verifiesServerName: true,
    verifiesCaller: false,
  })
  assert.equal('ca' in tls.dialOptions(), false)
  assert.ok(AUTHORITY_FILE.endsWith('.pem'))
})

test('tls: names are read from a certificate as it wrote them', () => {
  const text = 'DNS:a.example, IP Address:10.0.0.1, DNS:B.example, DNS:"x, DNS:server.global.reeve"'
  assert.deepEqual(namesOf({ subjectaltname: text }), ['a.example', 'b.example'])
})

/** As somebody exchanges the files of an agent. */
async function putCertificate(directory: string, holder: Holder) {
  const files = { certFile: join(directory, 'a.pem'), keyFile: join(directory, 'a.key') }
  const { certFile, keyFile } = certificateFiles(holder)
  await copyFile(certFile, files.certFile)
  await copyFile(keyFile, files.keyFile)
  return files
}

/** A port that says who it is and sees who comes. */
async function listen(t: TestContext, tls: Tls) {
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
    // With version 1.3 a caller learns only by reading that it is not welcome.
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
