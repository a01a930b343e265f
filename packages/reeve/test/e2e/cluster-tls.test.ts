import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFile, readFile } from 'node:fs/promises'
import { request as ask } from 'node:https'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { connect } from 'node:tls'
import { FORWARDED_HEADER } from '../../src/cluster/index.ts'
import { atEnd } from '../build/at-end.ts'
import { certificate, certificateFiles, type Holder } from '../build/certificates.ts'
import { startPostgres, whyNoPostgres } from '../build/postgres.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { leaderOf, startServer, tlsEnvironment, type ServerProcess } from './cluster-process.ts'
import { startAgent } from './program-process.ts'

const skip = whyNoPostgres()
/** Agents start slowly on a busy machine. */
const PATIENT_MS = 60_000
/** Unlike the address that servers use among themselves. */
const FAR = '127.0.0.9'

test('cluster: servers and nodes that prove themselves by certificates', { skip }, async (t) => {
  const postgres = await startPostgres()
  atEnd(t, () => postgres.stop())
  const directory = await temporaryDirectory(t)
  const own = { certFile: join(directory, 'b.pem'), keyFile: join(directory, 'b.key') }
  const renew = async (holder: Holder): Promise<void> => {
    const files = certificateFiles(holder)
    await copyFile(files.certFile, own.certFile)
    await copyFile(files.keyFile, own.keyFile)
  }
  await renew('server')
  const place = { url: await postgres.newDatabase(), directory, tls: 'server' } as const
  const leader = await startServer(t, { ...place, name: 'a' })
  await until('a leader', () => leaderOf(leader))
  const follower = await startServer(t, { ...place, name: 'b', own })
  await until('the follower to know it', async () =>
    (await leaderOf(follower)) === leader.address ? true : undefined,
  )

  // A write by way of the follower, and whom the audit log names for it.
  await put(follower, 'far', {})
  await put(leader, 'near', { [FORWARDED_HEADER]: `${Date.now()}.x.MTAuMC4wLjE.eA.forged` })
  assert.deepEqual(await addressesOf(follower), { far: FAR, near: FAR })

  // A node by way of the follower; one that is none by its certificate is not let in.
  const node = await aNode(t, follower, 'client')
  const stranger = await aNode(t, follower, 'user')
  await until(
    'the node',
    async () => (await nodesAt(leader)).includes('client') || undefined,
    PATIENT_MS,
  )
  const why = /it answered 403: nodes of this cluster prove themselves with a certificate/
  await until('a refusal', () => why.test(stranger.output()) || undefined, PATIENT_MS)
  assert.match(follower.output(), /rejected a connection/)
  assert.deepEqual(await nodesAt(leader), ['client'])

  // Certificates are renewed while it runs.
  const before = await serialOf(follower)
  await renew('server-renewed')
  follower.child.kill('SIGHUP')
  await until(
    'the new one',
    async () => (await serialOf(follower)) !== before || undefined,
    PATIENT_MS,
  )
  await put(follower, 'renewed', {})

  // Fail-over goes on as ever.
  await leader.kill('SIGKILL')
  await until('a write', () => put(follower, 'after', {}).catch(() => undefined), PATIENT_MS)
  // What it is told now it can only have been told by the new leader, over TLS.
  await until('a job', () => runJob(follower, 'later').catch(() => undefined), PATIENT_MS)
  const log = node.output()
  assert.match(log, /connection to the server ended/)
  assert.doesNotMatch(log, /http:\/\//, 'nothing but HTTPS')
  assert.deepEqual(await nodesAt(follower), ['client'])
})

/** Resolves when an allocation that was not there before runs on the node. */
async function runJob({ client }: ServerProcess, ID: string): Promise<true> {
  const params = { job_id: ID }
  const Tasks = [
    { Name: 'task', Driver: 'raw_exec', Config: { command: '/bin/sleep', args: ['300'] } },
  ]
  await client.v1.registerJob({ body: { Job: { ID, TaskGroups: [{ Name: 'g', Tasks }] } } })
  return await until(
    'the allocation to run',
    async () => {
      const { data } = await client.v1.listJobAllocations({ params })
      return data.some(({ ClientStatus }) => ClientStatus === 'running') || undefined
    },
    PATIENT_MS,
  )
}

async function aNode(t: TestContext, { address, dataDirectory }: ServerProcess, holder: Holder) {
  const directory = await temporaryDirectory(t)
  const flags = ['--client', '--data-dir', directory, '--node-name', holder]
  return startAgent(t, [...flags, '--join', new URL(address).host], {
    environment: {
      ...tlsEnvironment(holder),
      REEVE_RAW_EXEC: 'true',
      REEVE_JOIN_TOKEN: await readFile(`${dataDirectory}/server/join-token`, 'utf8'),
    },
  })
}

async function nodesAt({ client }: ServerProcess): Promise<readonly string[]> {
  return (await client.v1.listNodes({})).data.map(({ Name }) => Name)
}

/** A namespace, made by a caller from elsewhere. */
async function put(
  { address }: ServerProcess,
  Name: string,
  headers: Readonly<Record<string, string>>,
): Promise<true> {
  const { ca } = certificate('user')
  const options = { method: 'PUT', ca, localAddress: FAR, headers, agent: false }
  const asked = ask(`${address}/v1/namespace`, options).end(JSON.stringify({ Name }))
  const [answer] = await once(asked, 'response')
  answer.resume()
  assert.equal(answer.statusCode, 200)
  return true
}

/** Where the writer of each namespace was, as the audit log has it. */
async function addressesOf({ client }: ServerProcess): Promise<Readonly<Record<string, string>>> {
  const { data } = await client.v1.listAuditRecords({})
  const made = data.filter(({ Action }) => Action === 'writeNamespace')
  return Object.fromEntries(made.map(({ Resources, Address }) => [Resources.at(-1) ?? '', Address]))
}

async function serialOf({ address }: ServerProcess): Promise<string> {
  const { hostname, port } = new URL(address)
  const { ca } = certificate('user')
  const socket = connect({ host: hostname, port: Number(port), ca, servername: 'localhost' })
  await once(socket, 'secureConnect')
  const { serialNumber } = socket.getPeerCertificate()
  socket.destroy()
  return serialNumber
}
