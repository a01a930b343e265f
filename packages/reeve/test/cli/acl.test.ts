import assert from 'node:assert/strict'
import test from 'node:test'
import { aCommandLine } from '../build/cli.ts'

const RULES = 'namespace "default" {\n  policy = "read"\n}\n'

interface Token {
  readonly AccessorID: string
  readonly SecretID: string
  readonly Policies: readonly string[]
}

test('acl', { timeout: 300_000 }, async (t) => {
  const bench = await aCommandLine(t, ['--acl'])
  const secret = '2b778dd9-f5f1-6f29-b4b4-9a5fa948757a'

  await t.test('without a token it says that none was sent', async () => {
    const { code, err } = await bench.run('acl token list')
    assert.equal(code, 5)
    assert.match(
      err,
      /^reeve acl token list: Permission denied\nNo token was sent\. Run "reeve login"/,
    )
  })

  await t.test('bootstrap makes the first token with a secret of your own, once', async () => {
    const { code, out, err } = await bench.run('acl bootstrap -', { input: `${secret}\n` })
    assert.equal(code, 0, err)
    assert.match(out, /^Accessor += \S+\nSecret +=? ?2b778dd9-/)
    assert.match(err, /^Save the secret/)
    const again = await bench.run('acl bootstrap')
    assert.equal(again.code, 1)
    assert.match(again.err, /already done/)
  })

  const environment = { REEVE_TOKEN: secret }
  const ok = (line: string | readonly string[], input = '') =>
    bench.ok(line, { environment, input })
  const run = (line: string | readonly string[]) => bench.run(line, { environment })
  const as = (token: string, line: string) =>
    bench.run(line, { environment: { REEVE_TOKEN: token } })

  await t.test('policy apply, read, list and delete', async () => {
    await bench.file('read.hcl', RULES)
    const apply = ['acl', 'policy', 'apply', '--description', 'May look', 'look', 'read.hcl']
    assert.equal(await ok(apply), 'Policy "look" is stored.\n')
    assert.equal(
      await ok('acl policy read look'),
      `Name        = look\nDescription = May look\n\nRules\n${RULES}`,
    )
    await ok('acl policy apply look -', RULES.replace('read', 'write'))
    assert.match(await ok('acl policy read look'), /Description = May look\n[^]*policy = "write"/)
    await ok('acl policy apply look read.hcl')
    await ok('acl policy apply --job web --group api jobs read.hcl')
    assert.match(await ok('acl policy read jobs'), /\nWorkload += default \/ web \/ api\n/)
    assert.match(await ok('acl policy list'), /\njobs\nlook +May look\n/)
    assert.equal(await ok('acl policy delete jobs'), 'Policy "jobs" is deleted.\n')
    assert.equal((await run('acl policy delete jobs')).code, 6)
    const wrong = await bench.run('acl policy apply bad -', { environment, input: 'namespace {' })
    assert.equal(wrong.code, 1)
  })

  await t.test('role create, read, update, list and delete', async () => {
    await ok('acl policy apply more read.hcl')
    const made = await ok(['acl', 'role', 'create', '--name', 'dev', '--policy', 'look'])
    assert.match(made, /^ID +=? ?\S+\nName +=? ?dev\n[^]*Policies +=? ?look\n$/)
    const updated = await ok('acl role update --policy look --policy more dev')
    assert.match(updated, /Policies +=? ?look, more\n$/)
    const role: { ID: string } = JSON.parse(await ok('acl role read --json dev'))
    assert.match(await ok(`acl role read ${role.ID}`), /\nName +=? ?dev\n/)
    assert.match(await ok('acl role list'), /\n\w{8} +dev +look, more\n$/)
    assert.equal((await run('acl role create --name x')).code, 2)
    const missing = await run('acl role read nobody')
    assert.equal(missing.code, 6)
    assert.equal(
      missing.err,
      'reeve acl role read: There is no role "nobody".\n' +
        'For a list, run "reeve acl role list".\n',
    )
  })

  await t.test('token create, read, self, update, list and delete', async () => {
    const create = ['acl', 'token', 'create', '--json', '--name', 'ci', '--policy', 'look']
    const token: Token = JSON.parse(await ok([...create, '--ttl', '1h']))
    const self = await as(token.SecretID, 'acl token self')
    assert.match(self.out, /\nName +=? ?ci\nType +=? ?client\n/)
    assert.match(self.out, /\nPolicies +=? ?look\n[^]*\nExpires +=? ?20/)
    const shown = await ok(`acl token read ${token.AccessorID.slice(0, 9)}`)
    assert.match(shown, new RegExp(`^Accessor +=? ?${token.AccessorID}\n`))
    const own = await as(token.SecretID, 'acl policy self')
    assert.match(own.out, /^Name +=? ?look\n/)
    const updated: Token = JSON.parse(
      await ok(`acl token update --json --role dev --policy more ${token.AccessorID}`),
    )
    assert.deepEqual(updated.Policies, ['more'])
    const listed = await ok('acl token list')
    assert.match(listed, /\n\w{8} +Bootstrap Token +management +yes +all +\S+ ago\n/)
    assert.match(listed, / ci +client +no +more, role dev +/)
    assert.ok(!listed.includes(token.SecretID))
    const denied = await as(token.SecretID, 'acl token list')
    assert.equal(denied.code, 5)
    assert.match(
      denied.err,
      /^reeve acl token list: Permission denied\nThe token \(from REEVE_TOKEN\) lacks management/,
    )
    assert.equal(
      await ok(`acl token delete ${token.AccessorID.slice(0, 8)}`),
      `Token ${token.AccessorID} ("ci") is deleted.\n`,
    )
    const gone = await as(token.SecretID, 'acl token self')
    assert.equal(gone.code, 5)
    assert.equal(await ok('acl role delete dev'), 'Role "dev" is deleted.\n')
  })

  await t.test('token says what is missing', async () => {
    const none = await run('acl token create --name x')
    assert.equal(
      none.err,
      'reeve acl token create: a client token needs --policy or --role; or give --type management.\n',
    )
    assert.equal((await run('acl token create --type king')).code, 2)
    assert.equal((await run('acl token update 2b778dd9')).code, 2)
    assert.equal((await run('acl token read 00000000-0000-0000-0000-000000000000')).code, 6)
  })

  await t.test('ui signs in once with the token of the command line', async () => {
    const { code, out, err } = await run('ui')
    assert.equal(code, 0)
    assert.match(err, /^It signs in once/)
    const url = new URL(out.trim())
    assert.equal(url.pathname, '/ui/sign-in')
    const body = { OneTimeSecretID: url.searchParams.get('ott') ?? '' }
    const { data } = await bench.client.v1.exchangeOneTimeToken({ body })
    assert.equal(data.Token.SecretID, secret)
    assert.equal(await ok('ui --no-sign-in'), `${bench.address}/ui/\n`)
  })

  await t.test('alloc exec and the event stream are refused without rights', async () => {
    const create = 'acl token create --json --policy look'
    const token: Token = JSON.parse(await ok(create))
    const events = await as(token.SecretID, 'event stream --topic ACLToken --count 1')
    assert.equal(events.code, 5)
    const spawned = await bench.spawn('acl token self', { environment })
    assert.equal(spawned.code, 0)
  })
})
