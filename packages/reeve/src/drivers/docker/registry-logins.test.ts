import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { env } from 'node:process'
import { after, test } from 'node:test'
import { FakeEngine } from '../../../test/build/fake-engine.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { registryAuthHeader, findStoredAuth, findLogin } from './registry-logins.ts'

for (let length = 1; length <= 9; length += 1) {
  test(`logins: a password of ${length} letters reaches the engine`, () => {
    const password = 'üpassword'.slice(0, length)
    const auth = { username: 'ann', password, email: '', serverAddress: '', identityToken: '' }
    const header = registryAuthHeader(auth, 'reg.test')
    assert.equal(header.length % 4, 0)
    assert.deepEqual(FakeEngine.decodeLogin(header), {
      username: 'ann',
      password,
      email: '',
      serveraddress: 'reg.test',
    })
  })
}

const auth = Buffer.from('ann:pa:ss').toString('base64')
const files = [
  { name: 'by host and port', file: { auths: { 'reg.test:5000': { auth } } }, user: 'ann' },
  { name: 'by URL', file: { auths: { 'https://reg.test:5000/v2/': { auth } } }, user: 'ann' },
  { name: 'of another registry', file: { auths: { 'reg.test': { auth } } }, user: undefined },
  {
    name: 'in plain fields',
    file: { auths: { 'reg.test:5000': { username: 'bob', password: 'pa:ss' } } },
    user: 'bob',
  },
  {
    name: 'the exact name before a near one',
    file: {
      auths: {
        'http://reg.test:5000/v1/': { username: 'old', password: 'pa:ss' },
        'reg.test:5000': { auth },
      },
    },
    user: 'ann',
  },
  { name: 'nothing', file: 'nonsense', user: undefined },
]
for (const { name, file, user } of files) {
  test(`logins: the file has one ${name}`, () => {
    const found = findStoredAuth(file, 'reg.test:5000')
    assert.equal(found?.username, user)
    if (user !== undefined) assert.equal(found?.password, 'pa:ss')
  })
}

test('logins: the public registry is known by its old address, and by tokens', () => {
  const entry = { auth: '', identitytoken: 'tok' }
  const file = { auths: { 'https://index.docker.io/v1/': entry } }
  const found = findStoredAuth(file, 'docker.io')
  assert.equal(found?.identityToken, 'tok')
  assert.ok(found !== undefined)
  assert.deepEqual(FakeEngine.decodeLogin(registryAuthHeader(found, 'docker.io')), {
    username: '',
    password: '',
    email: '',
    serveraddress: 'https://index.docker.io/v1/',
    identitytoken: 'tok',
  })
})

const HELPERS = {
  good: 'read server; echo "{\\"ServerURL\\":\\"$server\\",\\"Username\\":\\"of-$server\\",\\"Secret\\":\\"s\\"}"',
  token: 'echo \'{"Username":"<token>","Secret":"tok"}\'',
  none: 'echo "credentials not found in native keychain"; exit 1',
  broken: 'printf "no\\033[2J key"; exit 2',
  silent: 'echo "{}"',
  endless: 'yes',
  slow: 'exec sleep 60',
  nosy: 'echo "{\\"Username\\":\\"$REEVE_CLUSTER_KEY\\",\\"Secret\\":\\"s\\"}"',
}
const path = env['PATH']
// At load: in a process that has begun to run tests, a hook of this file would not run.
const dir = await mkdtemp(join(tmpdir(), 'reeve-helpers-'))
for (const [name, script] of Object.entries(HELPERS)) {
  const file = join(dir, `docker-credential-${name}`)
  const guard = '[ "$1" = get ] || exit 9'
  await writeFile(file, `#!/bin/sh\n${guard}\n${script}\n`)
  await chmod(file, 0o755)
}
env['PATH'] = `${dir}:${path ?? ''}`
env['REEVE_CLUSTER_KEY'] = 'a secret of the agent'
after(async () => {
  env['PATH'] = path
  delete env['REEVE_CLUSTER_KEY']
  await rm(dir, { recursive: true })
})

const ask = (helper: string, registry = 'reg.test') =>
  findLogin(registry, { authFile: undefined, helper, helperTimeoutMs: 500 })

test('logins: a helper is queried for the registry', async () => {
  assert.equal((await ask('good'))?.username, 'of-reg.test')
  assert.equal((await ask('good', 'docker.io'))?.username, 'of-https://index.docker.io/v1/')
  assert.equal((await ask('token'))?.identityToken, 'tok')
  assert.equal(await ask('none'), undefined)
})

test('logins: a helper does not see the secrets of the agent', async () => {
  assert.equal((await ask('nosy'))?.username, '')
})

const failures = [
  {
    helper: 'broken',
    message: /^docker-credential-broken has no login for reg\.test: no \[2J key$/,
  },
  { helper: 'silent', message: /^docker-credential-silent printed no login/ },
  { helper: 'endless', message: /^docker-credential-endless printed more than 65536 bytes$/ },
  { helper: 'slow', message: /^docker-credential-slow did not answer within 0\.5 s$/ },
  { helper: 'missing', message: /^docker-credential-missing cannot be run: .*ENOENT/ },
  { helper: '../../bin/sh', message: /is not the name of a credential helper$/ },
]
for (const { helper, message } of failures) {
  test(`logins: the helper ${helper} fails with a reason`, async () => {
    await assert.rejects(ask(helper), { kind: 'task-start', message })
  })
}

test('logins: credHelpers, then credsStore, then auths, then auth.helper', async (t) => {
  const authFile = join(await temporaryDirectory(t), 'config.json')
  const find = async (file: object, helper = ''): Promise<string | undefined> => {
    await writeFile(authFile, JSON.stringify(file))
    return (await findLogin('reg.test', { authFile, helper }))?.username
  }
  const own = { credHelpers: { 'reg.test': 'good' } }
  const auths = { auths: { 'reg.test': { auth } } }
  assert.equal(await find({ ...own, credsStore: 'none', ...auths }), 'of-reg.test')
  assert.equal(await find({ credsStore: 'good', ...auths }), 'of-reg.test')
  assert.equal(await find({ credsStore: 'none', ...auths }), 'ann')
  assert.equal(await find({ credsStore: 'none' }, 'good'), 'of-reg.test')
  assert.equal(await find({ credHelpers: { 'other.test': 'broken' } }), undefined)
  await writeFile(authFile, 'not JSON')
  await assert.rejects(findLogin('reg.test', { authFile, helper: '' }), /is not JSON$/)
})
