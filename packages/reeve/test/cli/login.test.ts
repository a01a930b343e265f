import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { aCommandLine } from '../build/cli.ts'

test('login', async (t) => {
  const reeve = await aCommandLine(t, ['--acl'])
  const { data: token } = await reeve.client.v1.bootstrapAcl({ body: {} })
  const file = join(reeve.directory, '.config/reeve/login.json')

  await t.test('a token that the server does not know is not kept', async () => {
    const { code, err } = await reeve.run('login -', { input: 'nobody\n' })
    assert.equal(code, 5)
    assert.equal(
      err,
      `reeve login: The server at ${reeve.address} does not know this token.\n` +
        'Nothing was saved. Was it copied whole, and is it a token of that server?\n',
    )
    await assert.rejects(stat(file))
  })

  await t.test('a server that does not answer is named', async () => {
    const { code, err } = await reeve.run('login 127.0.0.1:1 -', { input: 'x' })
    assert.equal(code, 4)
    assert.match(
      err,
      /^reeve login: Cannot connect to the server at http:\/\/127\.0\.0\.1:1\.\nNothing was/,
    )
  })

  await t.test('a token is asked of a person only', async () => {
    const { code, err } = await reeve.run('login')
    assert.equal(code, 2)
    assert.match(err, /standard input is not a terminal: pipe it in and add "-"/)
  })

  await t.test('a token among the arguments is not passed over in silence', async () => {
    const { code, err } = await reeve.run(`login ${reeve.address} ${token.SecretID}`)
    assert.equal(code, 2)
    assert.equal(err, 'reeve login: A token cannot be an argument: pipe it in and add "-".\n')
  })

  await t.test('what is no token is refused before it is sent', async () => {
    assert.match((await reeve.run('login -', { input: ' \n' })).err, /No token was given/)
    assert.match((await reeve.run('login -', { input: 'a b' })).err, /no spaces/)
  })

  await t.test('a known token is kept for its owner alone, and used from then on', async () => {
    assert.match((await reeve.run('node status')).err, /No token was sent/)
    const out = await reeve.ok('login -', { input: `${token.SecretID}\n` })
    assert.match(out, /^Signed in at \S+ as "Bootstrap Token" \(management token\)\.\n/)
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    await reeve.ok('node status')
    assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), {
      address: reeve.address,
      tokens: { [reeve.address]: token.SecretID },
    })
  })

  await t.test('a kept token is never sent to another server', async () => {
    const address = reeve.address.replace('127.0.0.1', 'localhost')
    const { err } = await reeve.run(['node', 'status', '--address', address])
    assert.match(err, /No token was sent/)
  })

  await t.test('logout forgets it', async () => {
    assert.match(await reeve.ok('logout'), /was removed/)
    assert.match(await reeve.ok('logout'), /^No token was kept/)
    assert.match((await reeve.run('node status')).err, /No token was sent/)
    assert.match(await reeve.ok('logout --all'), /^No server and no token is kept/)
    await assert.rejects(stat(file))
  })
})

test('login: a dev agent leaves its token for the command line', async (t) => {
  const reeve = await aCommandLine(t)
  const out = await reeve.ok('doctor')
  assert.match(out, /The governance API knows the token as "/)
})
