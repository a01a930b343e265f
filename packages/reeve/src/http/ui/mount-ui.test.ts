import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { createHttpServer } from '../server.ts'
import { mountUi, acceptsHtml } from './mount-ui.ts'
import { SILENT_LOG } from '../../../test/build/agent.ts'
import { aPipeline } from '../../../test/build/pipeline.ts'

const INDEX = '<!doctype html><title>Reeve</title>'
const SCRIPT = 'console.log("hello")\n'.repeat(200)

function aFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-ui-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function aBuild(t: TestContext): string {
  const folder = aFolder(t)
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), INDEX)
  writeFileSync(join(folder, 'notes.unknown'), 'not for the network')
  writeFileSync(join(folder, 'assets/app-1.js'), SCRIPT)
  writeFileSync(join(folder, 'assets/app-1.js.br'), brotliCompressSync(SCRIPT))
  writeFileSync(join(folder, 'assets/app-1.js.gz'), gzipSync(SCRIPT))
  return folder
}

function serve(folder: string): FastifyInstance {
  const app = createHttpServer({
    pipeline: aPipeline().pipeline,
    log: SILENT_LOG,
    responseHeaders: {},
    usesPlainHttp: false,
    isDraining: () => false,
    observerOf: () => () => undefined,
  })
  mountUi(app, folder)
  return app
}

for (const url of ['/ui/', '/ui/jobs', '/ui/jobs/web%2Fx/versions?namespace=a', '/ui/index.html'])
  test(`${url} serves the page, revalidated each time`, async (t) => {
    const reply = await serve(aBuild(t)).inject(url)
    assert.deepEqual([reply.statusCode, reply.body], [200, INDEX])
    assert.equal(reply.headers['cache-control'], 'no-cache')
    assert.equal(reply.headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(reply.headers['x-content-type-options'], 'nosniff')
    const policy = String(reply.headers['content-security-policy'])
    assert.match(policy, /default-src 'none'.*script-src 'self';.*connect-src 'self'/)
    assert.match(policy, /frame-ancestors 'none'/)
  })

test('/ui redirects to /ui/', async (t) => {
  const reply = await serve(aBuild(t)).inject('/ui')
  assert.deepEqual([reply.statusCode, reply.headers['location']], [307, '/ui/'])
})

const ENCODINGS = [
  { accept: 'gzip, deflate, br', encoding: 'br', read: brotliDecompressSync },
  { accept: 'gzip;q=0.5', encoding: 'gzip', read: gunzipSync },
  { accept: 'br;q=0, gzip', encoding: 'gzip', read: gunzipSync },
  { accept: 'identity', encoding: undefined, read: (bytes: Buffer) => bytes },
]
for (const { accept, encoding, read } of ENCODINGS)
  test(`a hashed file is cached forever and sent as ${encoding ?? 'it is'}`, async (t) => {
    const headers = { 'accept-encoding': accept }
    const reply = await serve(aBuild(t)).inject({ url: '/ui/assets/app-1.js', headers })
    assert.equal(reply.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.equal(reply.headers['content-encoding'], encoding)
    assert.equal(reply.headers['vary'], 'Accept-Encoding')
    assert.equal(read(reply.rawPayload).toString(), SCRIPT)
  })

test('a page that has not changed is not sent again', async (t) => {
  const app = serve(aBuild(t))
  const etag = String((await app.inject('/ui/')).headers['etag'])
  const reply = await app.inject({ url: '/ui/', headers: { 'if-none-match': etag } })
  assert.deepEqual([reply.statusCode, reply.body], [304, ''])
})

const ELSEWHERE = [
  '/ui/assets/gone.js',
  '/ui/assets/../../../package.json',
  '/ui/assets/..%2f..%2fpackage.json',
  '/ui/assets/app-1.js%00',
]
for (const url of ELSEWHERE)
  test(`${url} is answered with 404, not with the page`, async (t) => {
    const reply = await serve(aBuild(t)).inject(url)
    assert.ok(reply.statusCode === 404 || reply.body === INDEX, reply.body)
    assert.doesNotMatch(reply.body, /reeve-workspace|console/)
  })

test('a file of an unknown type is not served', async (t) => {
  const reply = await serve(aBuild(t)).inject('/ui/notes.unknown')
  assert.equal(reply.body, INDEX)
})

test('without a build a page explains how to get the UI; it is served once built', async (t) => {
  const folder = aFolder(t)
  const app = serve(join(folder, 'dist'))
  const reply = await app.inject('/ui/jobs')
  assert.equal(reply.statusCode, 503)
  assert.match(reply.body, /install Reeve again/)
  mkdirSync(join(folder, 'dist'))
  writeFileSync(join(folder, 'dist/index.html'), INDEX)
  assert.equal((await app.inject('/ui/jobs')).body, INDEX)
})

const ACCEPTS = [
  { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8', is: true },
  { accept: 'application/json, text/html;q=0.5', is: true },
  { accept: '*/*', is: false },
  { accept: 'application/json', is: false },
  { accept: undefined, is: false },
]
for (const { accept, is } of ACCEPTS)
  test(`a client that accepts ${accept} ${is ? 'opens a page' : 'reads an API'}`, () =>
    assert.equal(acceptsHtml(accept), is))
