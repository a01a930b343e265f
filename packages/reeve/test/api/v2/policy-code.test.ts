import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { NOT_FOUND, refusedBy, type GovernanceServer } from './harness.ts'
import { aPolicy, showPolicy, upload, uploaded, withPolicies } from './policy-calls.ts'

interface Download {
  readonly headers?: object
  readonly query?: string
}

async function download(it: GovernanceServer, id: string, { headers, query = '' }: Download = {}) {
  return await it.server.send('GET', `/api/v2/policies/${id}/download${query}`, {
    headers: { authorization: `Bearer ${it.root}`, ...headers },
  })
}

test('L19 upload: text, nothing and no body at all are taken', async () => {
  const it = await withPolicies()
  const { id } = await aPolicy(it, { name: 'p' })
  const bodies = [
    { bytes: 'main = true', headers: { 'content-type': 'application/octet-stream' }, size: 11 },
    { bytes: '', headers: { 'content-type': 'application/octet-stream' }, size: 0 },
    { headers: {}, size: 0 },
    { bytes: 'main = false', headers: {}, size: 12 },
    { bytes: 'main = 1', headers: { 'content-type': 'text/plain; charset=latin1' }, size: 8 },
    { bytes: gzipSync('main = 22'), headers: { 'content-encoding': 'gzip' }, size: 9 },
  ]
  for (const { size, ...body } of bodies) {
    const reply = await upload(it, id, body)
    assert.equal(reply.status, 200, reply.text)
    assert.equal((await showPolicy(it, id)).attributes['code-size'], size)
  }
})

test('upload: empty code is kept with a warning', async () => {
  const it = await withPolicies()
  const { id } = await aPolicy(it, { name: 'p' })
  const { attributes } = await uploaded(it, id, '')
  assert.deepEqual(attributes.diagnostics, [
    { severity: 'warning', message: 'the policy is empty', line: 1, column: 1 },
  ])
  const reply = await download(it, id)
  assert.deepEqual([reply.status, reply.text], [200, ''])
})

test('upload: code that does not parse is kept with its findings, unless it must parse', async () => {
  const it = await withPolicies()
  const { id } = await aPolicy(it, { name: 'p' })
  const { attributes } = await uploaded(it, id, 'main = rule {\n  1 +\n}')
  assert.deepEqual(
    attributes.diagnostics.map(({ severity, line }) => [severity, line]),
    [['error', 3]],
  )
  await uploaded(it, id, 'main = true')
  const before = await showPolicy(it, id)
  it.server.clock.advance(1_000)
  const reply = await upload(it, id, { bytes: 'main = rule {', query: '?validate=strict' })
  const [status, text] = refusedBy(reply)
  assert.equal(status, 422)
  assert.match(text ?? '', /^unprocessable entity: line 1, column \d+: /)
  assert.deepEqual(await showPolicy(it, id), before)
  assert.equal((await upload(it, id, { bytes: 'main = 2', query: '?validate=strict' })).status, 200)
  assert.equal((await upload(it, id, { bytes: 'main = 2', query: '?validate=lax' })).status, 400)
})

test('upload: what is no text is 422, and nothing is saved', async () => {
  const it = await withPolicies()
  const { id } = await aPolicy(it, { name: 'p' })
  await uploaded(it, id, 'main = true')
  const before = await showPolicy(it, id)
  it.server.clock.advance(1_000)
  const bodies = [
    { bytes: Buffer.from([0x61, 0xff]), says: 'Policy code must be UTF-8 text' },
    { bytes: Buffer.from([0x61, 0xe2, 0x82]), says: 'Policy code must be UTF-8 text' },
    { bytes: Buffer.from('a\0b'), says: 'Policy code must not hold NUL bytes' },
  ]
  for (const { bytes, says } of bodies)
    assert.deepEqual(refusedBy(await upload(it, id, { bytes: bytes })), [
      422,
      `unprocessable entity: ${says}`,
    ])
  assert.deepEqual(await showPolicy(it, id), before)
})

const TEN_MIB = 10 * 1024 * 1024
const TOO_LARGE = [413, `payload too large: the request body is larger than ${TEN_MIB} bytes`]

test('upload: ten MiB are taken, one byte more is 413 and leaves what there was', async () => {
  const it = await withPolicies()
  const { id } = await aPolicy(it, { name: 'p' })
  const most = Buffer.alloc(TEN_MIB, '# a comment\n')
  assert.equal((await upload(it, id, { bytes: most })).status, 200)
  const before = await showPolicy(it, id)
  assert.equal(before.attributes['code-size'], TEN_MIB)
  it.server.clock.advance(1_000)
  const more = Buffer.alloc(TEN_MIB + 1, 'a')
  assert.deepEqual(refusedBy(await upload(it, id, { bytes: more })), TOO_LARGE)
  // Nobody says how long it is once it is unpacked.
  const bomb = await upload(it, id, {
    bytes: gzipSync(more),
    headers: { 'content-encoding': 'gzip' },
  })
  assert.deepEqual(refusedBy(bomb), TOO_LARGE)
  assert.deepEqual(await showPolicy(it, id), before)
  assert.equal((await download(it, id)).text.length, TEN_MIB)
})

test('upload: who may not is told before anything is read, and so is a form', async () => {
  const it = await withPolicies()
  const { id } = await aPolicy(it, { name: 'p' })
  const reader = await it.team('acme', 'readers', { 'read-policies': true })
  const more = Buffer.alloc(TEN_MIB + 1, 'a')
  assert.equal((await upload(it, id, { bytes: more, as: null })).status, 401)
  assert.deepEqual(refusedBy(await upload(it, id, { bytes: more, as: reader.token })), NOT_FOUND)
  const form = await upload(it, id, {
    bytes: more,
    headers: { 'content-type': 'multipart/form-data' },
  })
  assert.equal(form.status, 415)
  assert.notEqual(form.headers['connection'], 'close')
})

test('L20 download: 404 before an upload, then the very bytes', async () => {
  const it = await withPolicies()
  const { id } = await aPolicy(it, { name: 'p' })
  assert.deepEqual(refusedBy(await download(it, id)), NOT_FOUND)
  const text = '\uFEFFmain = rule { true }\r\n# ünïcode \u{1F600}\n\n'
  await uploaded(it, id, text)
  const reply = await download(it, id)
  assert.deepEqual([reply.status, reply.text], [200, text])
  const { headers } = reply
  assert.equal(headers['content-type'], 'application/octet-stream')
  assert.equal(headers['content-disposition'], 'attachment; filename="p.native"')
  assert.equal(headers['etag'], `"${createHash('sha256').update(text).digest('hex')}"`)
  for (const [named, status] of [
    [headers['etag'], 304],
    [`W/${headers['etag']}, "x"`, 304],
    ['*', 304],
    ['"x"', 200],
  ] as const) {
    const again = await download(it, id, { headers: { 'if-none-match': named } })
    assert.equal(again.status, status)
    assert.equal(again.text, status === 304 ? '' : text)
  }
})

test('versions: the last twenty uploads are kept, and each can be downloaded', async () => {
  const it = await withPolicies()
  const { id } = await aPolicy(it, { name: 'p' })
  for (let i = 0; i < 22; i++) await uploaded(it, id, `main = ${i}`)
  // The same again is no version of its own.
  await uploaded(it, id, 'main = 21')
  const { data } = await it.ok('listPolicyVersions', { params: { policy_id: id } })
  assert.equal(data.length, 20)
  const [newest] = data
  const oldest = data.at(-1)
  assert.ok(newest !== undefined && oldest !== undefined)
  assert.equal((await download(it, id, { query: `?version=${oldest.id}` })).text, 'main = 2')
  assert.equal((await download(it, id)).text, 'main = 21')
  assert.equal(
    newest.attributes['code-sha256'],
    (await showPolicy(it, id)).attributes['code-sha256'],
  )
  assert.equal(it.server.engine.disk.blobs.size, 20)
  const other = await aPolicy(it, { name: 'other' })
  await uploaded(it, other.id, 'main = 21')
  assert.equal(it.server.engine.disk.blobs.size, 20, 'equal texts are one')
  const reply = await download(it, other.id, { query: `?version=${oldest.id}` })
  assert.deepEqual(refusedBy(reply), NOT_FOUND)
  await it.done('deletePolicy', { params: { policy_id: id } })
  assert.equal((await download(it, other.id)).text, 'main = 21')
})

test('L21 times have milliseconds and a Z', async () => {
  const it = await withPolicies()
  const { id } = await aPolicy(it, { name: 'p' })
  const { attributes } = await uploaded(it, id, 'main = true')
  for (const time of [attributes['created-at'], attributes['updated-at']])
    assert.match(time ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})
