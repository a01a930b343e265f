import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getHostUser, parseGroups, parsePasswd } from './host-user.ts'

test('accounts are parsed from the password file; invalid lines are skipped', () => {
  const text = 'root:x:0:0:root:/root:/bin/sh\n\n#comment\nbad:x:one:1::/:\nweb:x:1000:1001::/:\n'
  assert.deepEqual(parsePasswd(text), [
    { name: 'root', uid: 0, gid: 0 },
    { name: 'web', uid: 1000, gid: 1001 },
  ])
})

test('groups are read with their members, broken lines are skipped', () => {
  const text = 'root:x:0:\n\n:x:7:\nbad:x:one:\nvideo:x:44:ann,bob\nshort:x:45\n'
  assert.deepEqual(parseGroups(text), [
    { name: 'root', gid: 0, members: [] },
    { name: 'video', gid: 44, members: ['ann', 'bob'] },
    { name: 'short', gid: 45, members: [] },
  ])
})

test('an account is found by name, by number, or given as a pair of numbers', async () => {
  assert.equal((await getHostUser('root')).uid, 0)
  assert.equal((await getHostUser('0')).name, 'root')
  assert.deepEqual(await getHostUser('4242:4343'), { name: '4242:4343', uid: 4242, gid: 4343 })
})

test('an account that does not exist is named in the fault', async () => {
  await assert.rejects(getHostUser('no-such-user'), {
    kind: 'task-unstartable',
    message: 'user "no-such-user" does not exist on this node',
  })
})
