import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { v2 } from '@reeve/contract'
import { setsForNamespace, readPolicyCode } from '../../../src/governance/index.ts'
import { aTar, type TarEntry } from '../../build/archive.ts'
import { aJob } from '../../build/index.ts'
import { aPolicyReader } from '../../build/policy-asker.ts'
import { aBody, aGovernanceServer, NOT_FOUND, refusedBy, type GovernanceServer } from './harness.ts'

const ACME = { organization_name: 'acme' }

async function withAcme(): Promise<GovernanceServer> {
  const it = await aGovernanceServer({ policyAsker: aPolicyReader() })
  await it.organization('acme')
  return it
}

async function set(it: GovernanceServer, attributes: object = {}): Promise<string> {
  const body = aBody('policy-sets', { name: 's', ...attributes })
  return (await it.created('createPolicySet', { params: ACME, body })).data.id
}

async function version(it: GovernanceServer, policySetId: string): Promise<v2.PolicySetVersion> {
  const params = { policy_set_id: policySetId }
  return (await it.created('createPolicySetVersion', { params })).data
}

async function show(it: GovernanceServer, id: string): Promise<v2.PolicySetVersion> {
  const params = { policy_set_version_id: id }
  return (await it.ok('readPolicySetVersion', { params })).data
}

async function upload(it: GovernanceServer, id: string, bytes: Buffer) {
  return await uploadAs(it, it.root, { id, bytes })
}

async function uploadAs(
  it: GovernanceServer,
  as: string,
  { id, bytes }: { readonly id: string; readonly bytes: Buffer },
) {
  return await it.server.send('PUT', `/api/v2/policy-set-versions/${id}/upload`, {
    body: bytes,
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/octet-stream' },
  })
}

function archive(...entries: readonly TarEntry[]): Buffer {
  return gzipSync(aTar(entries))
}

const MANIFEST = `
param "team" { value = ["a", 1] }
param "cpu" { value = 500 }

policy "small" {
  enforcement_level = "hard-mandatory"
  description       = "Jobs are small."
}

policy "named" {
  source = "./sub/../other.native"
  params = { cpu = 100 }
}
`
const GOOD: readonly TarEntry[] = [
  { path: './', type: '5' },
  { path: './native.hcl', text: MANIFEST },
  { path: './small.native', text: 'main = rule { true }' },
  { path: './other.native', text: 'param cpu\nmain = rule { cpu > 1 }' },
  { path: './unlisted.native', text: 'not a policy' },
]

test('S22 version: pending when it is made, ready after the upload', async () => {
  const it = await withAcme()
  const made = await version(it, await set(it))
  assert.match(made.id, /^polsetver-/)
  assert.equal(made.attributes.status, 'pending')
  assert.deepEqual(Object.keys(made.attributes['status-timestamps']), ['pending-at'])
  const self = `/api/v2/policy-set-versions/${made.id}`
  const { upload: link = '', ...others } = made.links
  assert.deepEqual(others, { self })
  assert.ok(link.startsWith('http://localhost:80/api/v2/uploads/policy-set-version/'), link)
  assert.deepEqual((await show(it, made.id)).attributes, made.attributes)
  const reply = await upload(it, made.id, archive(...GOOD))
  assert.deepEqual([reply.status, reply.text], [200, ''])
  const { attributes, links } = await show(it, made.id)
  assert.deepEqual([attributes.status, attributes.error], ['ready', null])
  assert.deepEqual(made.attributes.policies, [])
  assert.deepEqual(
    attributes.policies.map(({ name }) => name),
    ['named', 'small'],
  )
  assert.deepEqual(Object.keys(attributes['status-timestamps']), ['pending-at', 'ready-at'])
  assert.deepEqual(links, { self })
  assert.deepEqual(refusedBy(await upload(it, made.id, archive(...GOOD))), [
    409,
    'conflict: The version has an archive already.',
  ])
})

test('S23 version: the set tells the one in use and the newest one', async () => {
  const it = await withAcme()
  const id = await set(it)
  const params = { policy_set_id: id }
  const include = { include: 'current_version,newest_version' }
  const versions = async () => {
    const { data, included } = await it.ok('readPolicySet', { params, query: include })
    const { 'current-version': current, 'newest-version': newest } = data.relationships
    const statuses = (included ?? []).map((one) => [one.id, one.attributes?.['status']])
    return [current.data?.id, newest.data?.id, statuses]
  }
  assert.deepEqual(await versions(), [undefined, undefined, []])
  const first = await version(it, id)
  assert.deepEqual(await versions(), [undefined, first.id, [[first.id, 'pending']]])
  await upload(it, first.id, archive(...GOOD))
  const second = await version(it, id)
  assert.deepEqual(await versions(), [
    first.id,
    second.id,
    [
      [first.id, 'ready'],
      [second.id, 'pending'],
    ],
  ])
  const third = await version(it, id)
  await upload(it, third.id, archive(...GOOD))
  await upload(it, second.id, archive(...GOOD))
  assert.deepEqual((await versions()).slice(0, 2), [third.id, third.id])
  const { data } = await it.ok('listPolicySetVersions', { params })
  assert.deepEqual(
    data.map((one) => one.id),
    [third.id, second.id, first.id],
  )
})

test('version: a ready one replaces the policy records of its set', async () => {
  const it = await withAcme()
  const id = await set(it)
  const body = aBody('policies', { name: 'record', 'enforcement-level': 'advisory' })
  const { data: policy } = await it.ok('createPolicy', { params: ACME, body })
  const member = { data: [{ id: policy.id, type: 'policies' }] }
  const params = { policy_set_id: id }
  await it.done('addPolicySetPolicies', { params, body: member })
  await upload(it, (await version(it, id)).id, archive(...GOOD))
  const { data } = await it.ok('readPolicySet', { params })
  assert.deepEqual([data.attributes.versioned, data.attributes['policy-count']], [true, 2])
  assert.deepEqual(data.relationships.policies.data, [])
  assert.deepEqual(await it.refusal('addPolicySetPolicies', { params, body: member }), [
    422,
    'invalid attribute: Policies cannot be changed: the set is versioned',
  ])
  const versioned = { params: ACME, query: { 'filter[versioned]': 'true' } }
  assert.equal((await it.ok('listPolicySets', versioned)).data.length, 1)
})

test('version: its policies are asked in the order of their names, with all parameters', async () => {
  const it = await withAcme()
  const id = await set(it)
  const params = { policy_set_id: id }
  const body = aBody('vars', { key: 'team', value: 'ours', category: 'policy-set' })
  await it.created('createPolicySetParameter', { params, body })
  const namespace = { data: [{ id: 'default', type: 'namespaces' }] }
  await it.done('addPolicySetNamespaces', { params, body: namespace })
  await upload(it, (await version(it, id)).id, archive(...GOOD))
  const { context } = it.server
  const [applied] = setsForNamespace(context, 'default')
  assert.ok(applied !== undefined)
  assert.deepEqual(applied.params, { team: 'ours', cpu: 500 })
  assert.deepEqual(
    applied.policies.map(({ name, level, description, params: given }) => ({
      name,
      level,
      description,
      given,
    })),
    [
      { name: 'named', level: 'advisory', description: null, given: { team: 'ours', cpu: 100 } },
      {
        name: 'small',
        level: 'hard-mandatory',
        description: 'Jobs are small.',
        given: { team: 'ours', cpu: 500 },
      },
    ],
  )
  const [named] = applied.policies
  const code = await readPolicyCode(context.store, named?.codeHash ?? '')
  assert.equal(code, 'param cpu\nmain = rule { cpu > 1 }')
})

test('version: an opa set is read from policies.hcl in the folder of the set', async () => {
  const it = await withAcme()
  const id = await set(it, { kind: 'opa', 'policies-path': '/rules/' })
  const manifest =
    'policy "deny" {\n  query = "data.reeve.deny"\n  enforcement_level = "mandatory"\n}'
  const { id: versionId } = await version(it, id)
  const reply = await upload(
    it,
    versionId,
    archive(
      { path: 'rules/policies.hcl', text: manifest },
      { path: 'rules/deny.rego', text: 'package reeve\n\ndeny := []\n' },
    ),
  )
  assert.equal(reply.status, 200)
  assert.deepEqual((await show(it, versionId)).attributes.error, null)
})

function manifestOf(policies: number): string {
  return Array.from({ length: policies }, (_, i) => `policy "p${i}" {}`).join('\n')
}

const ERRORED: readonly {
  readonly name: string
  readonly entries: readonly TarEntry[]
  readonly says: RegExp
}[] = [
  {
    name: 'no manifest',
    entries: [{ path: 'policies.hcl', text: '' }],
    says: /^The archive has no file native\.hcl$/,
  },
  {
    name: 'a manifest that does not parse',
    entries: [{ path: 'native.hcl', text: 'policy "a" {' }],
    says: /^native\.hcl:1/,
  },
  {
    name: 'a block that is not known',
    entries: [{ path: 'native.hcl', text: 'modul "m" {}' }],
    says: /modul/,
  },
  {
    name: 'a module that is not there',
    entries: [
      { path: 'native.hcl', text: 'module "m" { source = "./m.native" }\npolicy "a" {}' },
      { path: 'a.native', text: 'import "m"\nmain = m.ok' },
    ],
    says: /^policy "a", module "m", source \.\/m\.native: the archive has no such file$/,
  },
  {
    name: 'static data that is no JSON',
    entries: [
      { path: 'native.hcl', text: 'import "static" "d" { source = "./d" }\npolicy "a" {}' },
      { path: 'a.native', text: 'import "d"\nmain = d.ok' },
      { path: 'd', text: '{' },
    ],
    says: /^policy "a", static data "d", source \.\/d: it is no JSON/,
  },
  {
    name: 'a policy that is there twice',
    entries: [{ path: 'native.hcl', text: 'policy "a" {}\npolicy "a" {}' }],
    says: /policy "a" is there twice/,
  },
  {
    name: 'a level of the other kind and a name',
    entries: [
      {
        path: 'native.hcl',
        text: 'policy "a" { enforcement_level = "mandatory" }\npolicy "a b" {}',
      },
    ],
    says: /must be one of.*\n.*"a b" is no name/,
  },
  {
    name: 'more policies than a version has',
    entries: [{ path: 'native.hcl', text: manifestOf(v2.POLICY_SET_VERSION_POLICIES_MAX + 1) }],
    says: /^The manifest lists 501 policies; a version has at most 500 policies$/,
  },
  {
    name: 'as many policies as a version has, without their files',
    entries: [{ path: 'native.hcl', text: manifestOf(v2.POLICY_SET_VERSION_POLICIES_MAX) }],
    says: /^policy "p0", source .* the archive has no such file$/,
  },
  {
    name: 'a manifest that is too large',
    entries: [{ path: 'native.hcl', text: '#'.repeat(v2.POLICY_SET_MANIFEST_BYTES_MAX) + '\n' }],
    says: /^The manifest is larger than 262144 bytes; split the policies into several sets$/,
  },
  {
    name: 'a manifest of the largest size, without policies',
    entries: [
      {
        path: 'native.hcl',
        text: 'policy "a" {}\n'.padEnd(v2.POLICY_SET_MANIFEST_BYTES_MAX, '#'),
      },
    ],
    says: /the archive has no such file$/,
  },
  {
    name: 'a file that is not there',
    entries: [{ path: 'native.hcl', text: 'policy "a" {}' }],
    says: /^policy "a", source \.\/a\.native: the archive has no such file$/,
  },
  {
    name: 'a way out of the archive',
    entries: [{ path: 'native.hcl', text: 'policy "a" { source = "../../etc/passwd" }' }],
    says: /the archive has no such file$/,
  },
  {
    name: 'a link in place of a file',
    entries: [
      { path: 'native.hcl', text: 'policy "a" {}' },
      { path: 'a.native', type: '2', target: '/etc/passwd' },
    ],
    says: /the archive has no such file$/,
  },
  {
    name: 'code that does not parse',
    entries: [
      { path: 'native.hcl', text: 'policy "a" {}' },
      { path: 'a.native', text: 'main = rule {' },
    ],
    says: /^policy "a", source \.\/a\.native: line 1, column/,
  },
]
for (const { name, entries, says } of ERRORED)
  test(`version: errored for ${name}; the set goes on without it`, async () => {
    const it = await withAcme()
    const id = await set(it)
    const { id: versionId } = await version(it, id)
    assert.equal((await upload(it, versionId, archive(...entries))).status, 200)
    const { attributes } = await show(it, versionId)
    assert.equal(attributes.status, 'errored')
    assert.match(attributes.error ?? '', says)
    const { data } = await it.ok('readPolicySet', { params: { policy_set_id: id } })
    assert.deepEqual(
      [data.attributes.versioned, data.relationships['current-version'].data],
      [false, null],
    )
  })

/** Sets of several files, and what their policy finds wrong with a job. */
const TOGETHER: readonly {
  readonly name: string
  readonly kind: v2.PolicyKind
  readonly entries: readonly TarEntry[]
  readonly says: RegExp
}[] = [
  {
    name: 'a native set brings modules and static data',
    kind: 'native',
    entries: [
      {
        path: 'native.hcl',
        text:
          'import "module" "groups" { source = "./modules/groups.native" }\n' +
          'import "static" "limits" { source = "./limits.json" }\n' +
          'policy "small" { enforcement_level = "hard-mandatory" }',
      },
      {
        path: 'modules/groups.native',
        text: 'import "limits"\nfits = func(c) { return c <= limits.most }',
      },
      { path: 'limits.json', text: '{"most": 0}' },
      {
        path: 'small.native',
        text: 'import "groups"\nmain = rule { groups.fits(length(job.task_groups)) }',
      },
    ],
    says: /rule main, line 2, column 15: groups\.fits/,
  },
  {
    name: 'a native set whose manifest has another name',
    kind: 'native',
    entries: [
      { path: 'other.hcl', text: 'policy "never" { enforcement_level = "hard-mandatory" }' },
      { path: 'never.native', text: 'main = rule { false }' },
    ],
    says: /policy "never"/,
  },
  {
    name: 'the files of an opa set are loaded together, as policies.json says',
    kind: 'opa',
    entries: [
      {
        path: 'policies.json',
        text: '{"policy": {"deny": {"query": "data.jobs.deny", "enforcement_level": "mandatory"}}}',
      },
      {
        path: 'rules/jobs.rego',
        text: 'package jobs\n\nimport data.lib\n\ndeny contains lib.word\n',
      },
      { path: 'lib.rego', text: 'package lib\n\nword := "never"\n' },
      { path: 'lib_test.rego', text: 'this is not loaded' },
    ],
    says: /rule deny, rules\/jobs\.rego, line 5, column 1: never/,
  },
]
test('version: sets of several files', async (t) => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  for (const { name, kind, entries, says } of TOGETHER)
    await t.test(name, async () => {
      const id = await set(it, { name: `set-${kind}-${entries.length}`, kind })
      const { id: versionId } = await version(it, id)
      assert.equal((await upload(it, versionId, archive(...entries))).status, 200)
      assert.equal((await show(it, versionId)).attributes.error, null)
      const namespace = { data: [{ id: 'default', type: 'namespaces' }] }
      const params = { policy_set_id: id }
      await it.done('addPolicySetNamespaces', { params, body: namespace })
      const call = { body: { Job: aJob() }, token: it.root }
      const [status, text] = await it.server.refusal('registerJob', call)
      assert.equal(status, 403)
      assert.match(text, says)
      await it.done('deletePolicySet', { params })
    })
  await it.server.close()
})

const DAMAGED: readonly { readonly name: string; readonly bytes: Buffer; readonly says: string }[] =
  [
    { name: 'nothing', bytes: Buffer.alloc(0), says: 'The archive is not gzipped' },
    { name: 'text', bytes: Buffer.from('hello'), says: 'The archive is not gzipped' },
    { name: 'a bare tar', bytes: aTar(GOOD), says: 'The archive is not gzipped' },
    {
      name: 'a cut gzip',
      bytes: archive(...GOOD).subarray(0, 60),
      says: 'The archive is not gzipped',
    },
    {
      name: 'gzipped text',
      bytes: gzipSync(Buffer.alloc(600, 'x')),
      says: 'The archive is not a tar archive',
    },
    {
      name: 'a cut tar',
      bytes: archive({ path: 'a', text: 'x', size: 100_000 }),
      says: 'The archive ends in the middle',
    },
    {
      name: 'a bomb',
      bytes: gzipSync(Buffer.alloc(101 * 1024 * 1024)),
      says: 'The archive unpacks to more than 104857600 bytes',
    },
    {
      name: 'too many entries',
      bytes: archive(...Array.from({ length: 10_001 }, (_, i) => ({ path: `f${i}` }))),
      says: 'The archive has more than 10000 entries',
    },
  ]
for (const { name, bytes, says } of DAMAGED)
  test(`version: ${name} is 422, and the version still waits for its archive`, async () => {
    const it = await withAcme()
    const { id } = await version(it, await set(it))
    assert.deepEqual(refusedBy(await upload(it, id, bytes)), [422, `unprocessable entity: ${says}`])
    assert.equal((await show(it, id)).attributes.status, 'pending')
    assert.equal((await upload(it, id, archive(...GOOD))).status, 200)
    assert.equal((await show(it, id)).attributes.status, 'ready')
  })

test('version: too large an archive is 413, and a stranger is told nothing', async () => {
  const it = await withAcme()
  const { id } = await version(it, await set(it))
  const bytes = Buffer.alloc(50 * 1024 * 1024 + 1)
  assert.equal((await upload(it, id, bytes)).status, 413)
  const { token } = await it.team('acme', 'team', { 'read-policies': true })
  assert.deepEqual(refusedBy(await uploadAs(it, token, { id, bytes })), NOT_FOUND)
})

test('version: the last ones are kept, and the one in use always', async () => {
  const it = await withAcme()
  const id = await set(it)
  const first = await version(it, id)
  await upload(it, first.id, archive(...GOOD))
  for (let i = 0; i < 21; i++) await version(it, id)
  const params = { policy_set_id: id }
  const { data } = await it.ok('listPolicySetVersions', { params, query: { 'page[size]': '100' } })
  assert.deepEqual([data.length, data.at(-1)?.id], [21, first.id])
  await it.done('deletePolicySet', { params })
  assert.equal(it.server.engine.disk.blobs.size, 0)
})
