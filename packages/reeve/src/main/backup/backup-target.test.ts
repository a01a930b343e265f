import { AwsV4Signer } from 'aws4fetch'
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { access, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { freePort } from '../../../test/build/free-port.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { backupName, S3Target } from './backup-target.ts'

const KEYS = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'secret-of-the-example' }
const REGION = 'eu-central-1'
const PAGE = 2

/** A bucket in memory, which checks signatures as the service does, and lists in small pages. */
async function aBucket(t: TestContext) {
  const objects = new Map<string, Buffer>()
  const server = createServer((request, response) => {
    void answer(request, response).catch((thrown: unknown) =>
      response.destroy(Error(String(thrown))),
    )
  })
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray())
    const url = new URL(request.url ?? '', `http://${request.headers.host}`)
    if (!(await isSigned(request, url)))
      return void response.writeHead(403).end('<Code>SignatureDoesNotMatch</Code>')
    const sha256 = request.headers['x-amz-content-sha256']
    if (request.method === 'PUT' && sha256 !== createHash('sha256').update(body).digest('hex'))
      return void response.writeHead(400).end('<Code>XAmzContentSHA256Mismatch</Code>')
    const key = decodeURIComponent(url.pathname.replace('/bucket/', ''))
    if (request.method === 'PUT') objects.set(key, body)
    if (request.method === 'DELETE') objects.delete(key)
    response.writeHead(200).end(request.method === 'GET' ? listing(url.searchParams) : '')
  }
  function listing(query: URLSearchParams): string {
    const keys = [...objects.keys()]
      .filter((key) => key.startsWith(query.get('prefix') ?? ''))
      .toSorted()
    const from = Number(query.get('continuation-token') ?? 0)
    const page = keys
      .slice(from, from + PAGE)
      .map((key) => `<Contents><Key>${key}</Key></Contents>`)
    const more = from + PAGE < keys.length
    return `<ListBucketResult>${page.join('')}${more ? `<NextContinuationToken>${from + PAGE}</NextContinuationToken>` : ''}</ListBucketResult>`
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return { objects, address: `http://127.0.0.1:${address.port}/bucket/backups/reeve` }
}

async function isSigned(request: IncomingMessage, url: URL): Promise<boolean> {
  const { authorization = '', 'x-amz-date': date, 'x-amz-content-sha256': sha } = request.headers
  const signer = new AwsV4Signer({
    method: request.method ?? '',
    url: url.toString(),
    headers: { 'x-amz-content-sha256': String(sha) },
    ...KEYS,
    service: 's3',
    region: REGION,
    datetime: String(date),
  })
  const { headers } = await signer.sign()
  return headers.get('authorization') === authorization
}

async function aTarget(t: TestContext, more: Partial<typeof KEYS> = {}) {
  const bucket = await aBucket(t)
  const workFolder = await temporaryDirectory(t)
  const { address } = bucket
  const target = new S3Target({
    url: address,
    region: REGION,
    ...KEYS,
    ...more,
    stagingDirectory: workFolder,
  })
  return { ...bucket, target, workFolder }
}

test('s3: a file is uploaded under the prefix, and removed here', async (t) => {
  const { target, objects, workFolder } = await aTarget(t)
  const file = join(workFolder, 'backup.partial')
  await writeFile(file, 'a snapshot')
  await target.store(backupName(1_000, 1), file)
  assert.deepEqual(
    [...objects].map(([key, bytes]) => [key, bytes.toString()]),
    [[`backups/reeve/${backupName(1_000, 1)}`, 'a snapshot']],
  )
  await assert.rejects(access(file), { code: 'ENOENT' })
})

test('s3: backups are listed page by page, oldest first, and nothing else', async (t) => {
  const { target, objects } = await aTarget(t)
  const names = [5, 1, 3, 2, 4].map((second) => backupName(second * 1_000, second))
  for (const name of [...names, 'other.txt']) objects.set(`backups/reeve/${name}`, Buffer.alloc(0))
  objects.set(`elsewhere/${backupName(9_000, 9)}`, Buffer.alloc(0))
  assert.deepEqual(await target.list(), names.toSorted())
  await target.remove(names.toSorted()[0] ?? '')
  assert.equal((await target.list()).length, 4)
})

test('s3: a refusal names the address and the code, never the key', async (t) => {
  const { target } = await aTarget(t, { secretAccessKey: 'another-secret-of-somebody' })
  await assert.rejects(target.list(), (thrown: Error) => {
    assert.match(
      thrown.message,
      /^http:.*\/bucket\/backups\/reeve answered GET with 403 SignatureDoesNotMatch$/,
    )
    assert.doesNotMatch(thrown.message, /another-secret/)
    return true
  })
})

test('s3: a service that is away is a fault with the reason', async (t) => {
  const workFolder = await temporaryDirectory(t)
  const address = `http://127.0.0.1:${await freePort()}/bucket/x`
  const target = new S3Target({
    url: address,
    region: REGION,
    ...KEYS,
    stagingDirectory: workFolder,
  })
  await assert.rejects(target.list(), {
    kind: 'backup',
    message: /does not answer: .*ECONNREFUSED/,
  })
})
